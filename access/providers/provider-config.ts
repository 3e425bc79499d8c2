import { Ajv, type ValidateFunction } from "ajv";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { type ExecApiVersion, execApiVersions } from "../plugins/credential.ts";
import { ContentError, providerDocument } from "./provider-document.ts";
import { canonicalKeys } from "./provider-keys.ts";
import { impossibleRule, type ProviderRules, providerRules } from "./provider-rules.ts";
import {
  providerFileKeys,
  providerSchema,
  type RawExec,
  type RawProvider,
  timeoutMsOf,
} from "./provider-schema.ts";
import { providerStrictness } from "./provider-strictness.ts";

export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

/** How to run the exec plugin of a provider. */
interface ExecSettings {
  readonly apiVersion: ExecApiVersion;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly provideClusterInfo: boolean;
  readonly installHint: string;
  readonly timeoutMs: number;
  /** Our own key: SHA-256 of the executable in lower-case hexadecimal. */
  readonly sha256?: string;
}

const argsPolicies = ["Ignore", "Append"] as const;
const envPolicies = ["Ignore", "AppendIfNotExists", "Replace"] as const;

/** One provider of the file. A provider without `exec` is not usable; `problem` says why. */
export interface Provider {
  readonly name: string;
  readonly exec?: ExecSettings;
  readonly problem?: string;
  readonly argsPolicy: (typeof argsPolicies)[number];
  readonly envPolicy: (typeof envPolicies)[number];
  /** Our own key, which Go ignores: trust the system's certificate authorities when the profile has no CA. */
  readonly systemRoots: boolean;
  /** Our own key: allow `http` servers, and unverified ones when the profile has `insecure-skip-tls-verify`. */
  readonly allowInsecure: boolean;
  readonly rules: ProviderRules;
  /** Our own key: how many of its plugins may run at the same time; absent: two. */
  readonly maxConcurrency?: number;
}

/** A provider file: the ways to log in to clusters, in order of preference. Spec: cluster-inventory.md 2.2. */
export interface ProviderFile {
  readonly providers: readonly Provider[];
  /** Valid settings that are probably mistakes. */
  readonly warnings: readonly string[];
}

/** How a file is read that nobody is there to correct: what the webhook refuses is refused. */
export interface Strictness {
  /** Folders of the plugins; empty: any folder. */
  readonly roots: readonly string[];
}

interface ProviderFileSource {
  /** For messages. */
  readonly path: string;
  readonly format: "json" | "yaml";
  /** Absent: the file is read as tolerantly as by Go. */
  readonly strict?: Strictness;
}

/**
 * Parses a provider file as tolerantly as the Go loader, unless `strict` is given: keys match in any case, and unknown keys are ignored. An
 * invalid provider gets a `problem`, and the others stay usable. The result is deeply frozen.
 *
 * Throws `FleetError` `ConfigInvalid` with code `ProviderFileInvalid`, whose message has the position but never quotes the text.
 */
export function parseProviderFile(content: string, source: ProviderFileSource): ProviderFile {
  try {
    const file = providerFile(content, source);
    const { strict, format } = source;
    const problems =
      strict === undefined ? [] : providerStrictness(content, { format, roots: strict.roots });
    if (problems.length > 0) throw new ContentError(firstOf(problems));
    return file;
  } catch (error) {
    // The parser throws a RangeError when deep nesting overflows its stack.
    const isContent = error instanceof ContentError || error instanceof RangeError;
    if (!isContent) throw error;
    const what = error instanceof ContentError ? error.message : "it is nested too deeply";
    const message = `The provider file ${source.path} is not usable: ${what}`;
    throw new FleetError("ConfigInvalid", message, { code: "ProviderFileInvalid" });
  }
}

const shownProblems = 3;

function firstOf(problems: readonly string[]): string {
  const more = problems.length - shownProblems;
  const shown = problems.slice(0, shownProblems).join("; ");
  return more > 0 ? `${shown}; and ${more} more` : shown;
}

/** The position of a field, as `line 3, column 7`. */
type PositionOf = (path: string) => string;

function providerFile(content: string, { format }: ProviderFileSource): ProviderFile {
  const read = canonicalKeys(providerDocument(content, format), providerFileKeys);
  const { positionOf } = read;
  const top = read.value ?? {};
  if (!isRecord(top)) throw new ContentError(`the top level must be object (${positionOf("")})`);
  const listed = top["providers"] ?? [];
  if (!Array.isArray(listed)) {
    throw new ContentError(`providers must be array (${positionOf("providers")})`);
  }
  // The schema is our own. A check of it against the schema of schemas takes 15 ms.
  const ajv = new Ajv({ meta: false, validateSchema: false });
  const validate = ajv.compile<RawProvider>(providerSchema);
  const entries = listed.map((entry: unknown, index) =>
    entryOf(entry, { path: `providers[${index}]`, validate, positionOf }),
  );
  return Object.freeze({
    providers: Object.freeze(entries.map(({ provider }) => provider)),
    warnings: Object.freeze([...read.warnings, ...oddities(entries, positionOf)]),
  });
}

interface Entry {
  readonly provider: Provider;
  /** Undefined when the entry does not match the schema. */
  readonly raw: RawProvider | undefined;
}

interface EntrySource {
  readonly path: string;
  readonly validate: ValidateFunction<RawProvider>;
  readonly positionOf: PositionOf;
}

function entryOf(entry: unknown, { path, validate, positionOf }: EntrySource): Entry {
  if (validate(entry)) return { provider: providerOf(entry, path, positionOf), raw: entry };
  const wrong = validate.errors?.[0];
  const inside = (wrong?.instancePath ?? "").replace(/\/(\d+)/g, "[$1]").replaceAll("/", ".");
  const field = `${path}${inside}`;
  const name = isRecord(entry) && typeof entry["name"] === "string" ? entry["name"] : "";
  return {
    raw: undefined,
    provider: Object.freeze({
      ...plainProvider,
      name,
      problem: `${field} (${positionOf(field)}): ${wrong?.message ?? "is wrong"}`,
    }),
  };
}

const plainProvider = Object.freeze({
  argsPolicy: "Ignore",
  envPolicy: "Ignore",
  systemRoots: false,
  allowInsecure: false,
  rules: Object.freeze({}),
} as const satisfies Partial<Provider>);

function providerOf(raw: RawProvider, path: string, positionOf: PositionOf): Provider {
  const { name = "", systemRoots = false, allowInsecure = false, maxConcurrency } = raw;
  const argsPolicy = wordOf(raw.profileSourcedCLIArgsPolicy, argsPolicies);
  const envPolicy = wordOf(raw.profileSourcedEnvVarsPolicy, envPolicies);
  const rules = providerRules(raw);
  const common = {
    name,
    argsPolicy: argsPolicy ?? "Ignore",
    envPolicy: envPolicy ?? "Ignore",
    systemRoots,
    allowInsecure,
    rules,
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
  };
  const exec =
    wordProblem(argsPolicy, envPolicy) ??
    impossibleRule(rules) ??
    digestProblem(raw) ??
    execOf(raw);
  if (!isProblem(exec)) return Object.freeze({ ...common, exec });
  const [key, what] = exec;
  const field = `${path}.${key}`;
  return Object.freeze({ ...common, problem: `${field} (${positionOf(field)}): ${what}` });
}

/** A key of a provider and what is wrong with it. */
type Problem = readonly [key: string, what: string];

function wordProblem(
  argsPolicy: string | undefined,
  envPolicy: string | undefined,
): Problem | undefined {
  const what = "is not a known word";
  if (argsPolicy === undefined) return ["profileSourcedCLIArgsPolicy", what];
  return envPolicy === undefined ? ["profileSourcedEnvVarsPolicy", what] : undefined;
}

function digestProblem({ sha256 = "0".repeat(64) }: RawProvider): Problem | undefined {
  if (/^[0-9a-f]{64}$/i.test(sha256)) return undefined;
  return ["sha256", "has to be 64 hexadecimal digits"];
}

function isProblem(value: ExecSettings | Problem): value is Problem {
  return Array.isArray(value);
}

/** The settings, or the reason why the entry is not usable. */
function execOf({ execConfig: raw, timeout, sha256 }: RawProvider): ExecSettings | Problem {
  if (raw === undefined) return ["execConfig", "is missing"];
  const apiVersion = execApiVersions.find((version) => version === raw.apiVersion);
  if (apiVersion === undefined) {
    return ["execConfig.apiVersion", `has to be ${execApiVersions.join(" or ")}`];
  }
  if (raw.command === undefined || raw.command === "") {
    return ["execConfig.command", "is missing"];
  }
  const timeoutMs = timeoutMsOf(timeout);
  if (timeoutMs === undefined) {
    return ["timeout", 'has to be a duration from 1s to 5m, such as "30s"'];
  }
  const env = (raw.env ?? []).flatMap(({ name = "", value = "" }) =>
    name === "" ? [] : [Object.freeze({ name, value })],
  );
  const args = Object.freeze([...(raw.args ?? [])]);
  const texts = [raw.command, ...args, ...env.flatMap(({ name, value }) => [name, value])];
  if (texts.some((text) => text.includes("\0"))) {
    return ["execConfig", "holds a NUL character in command, args or env"];
  }
  return Object.freeze({
    apiVersion,
    command: raw.command,
    args,
    env: Object.freeze(env),
    provideClusterInfo: raw.provideClusterInfo ?? false,
    installHint: raw.installHint ?? "",
    timeoutMs,
    ...(sha256 === undefined ? {} : { sha256: sha256.toLowerCase() }),
  });
}

function wordOf<Word extends string>(
  given: string | undefined,
  words: readonly [Word, ...Word[]],
): Word | undefined {
  if (given === undefined || given === "") return words[0];
  return words.find((word) => word === given);
}

function oddities(entries: readonly Entry[], positionOf: PositionOf): readonly string[] {
  const names = entries.map(({ provider }) => provider.name);
  return entries.flatMap(({ raw }, index) => {
    const path = `providers[${index}]`;
    const repeated: readonly Problem[] =
      names.indexOf(names[index] ?? "") < index
        ? [["name", "declared before; the first one is used"]]
        : [];
    return [...repeated, ...execOddities(raw?.execConfig ?? {})].map(([key, what]) => {
      const field = `${path}.${key}`;
      return `${field} (${positionOf(field)}): ${what}`;
    });
  });
}

function execOddities(exec: RawExec): readonly Problem[] {
  const { command = "", env = [], interactiveMode = "" } = exec;
  const variables = env.map(({ name = "" }) => name);
  const isRelative = command !== "" && !command.startsWith("/") && !command.startsWith("builtin:");
  const checks: readonly (readonly [boolean, string, string])[] = [
    [isRelative, "command", "not an absolute path"],
    [variables.includes(""), "env", "an entry without a name is ignored"],
    [
      new Set(variables).size < variables.length,
      "env",
      "a name is declared more than once; the last one is used",
    ],
    [
      interactiveMode !== "" && interactiveMode !== "Never",
      "interactiveMode",
      "treated as Never, because nobody can answer",
    ],
  ];
  return checks.flatMap(([isOdd, key, what]): readonly Problem[] =>
    isOdd ? [[`execConfig.${key}`, what]] : [],
  );
}
