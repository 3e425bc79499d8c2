import { Ajv } from "ajv";
import { parseDocument } from "yaml";

import { FleetError } from "../api/errors.ts";
import { jsonErrorPosition } from "./json-position.ts";
import { canonicalKeys } from "./provider-keys.ts";
import {
  providerFileSchema,
  type RawExec,
  type RawProvider,
  type RawProviderFile,
} from "./provider-schema.ts";

export const execApiVersions = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
] as const;
export type ExecApiVersion = (typeof execApiVersions)[number];

export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

/** How the exec plugin of a provider is run. */
export interface ExecSettings {
  readonly apiVersion: ExecApiVersion;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly provideClusterInfo: boolean;
  readonly installHint: string;
}

const argsPolicies = ["Ignore", "Append"] as const;
const envPolicies = ["Ignore", "AppendIfNotExists", "Replace"] as const;

/** One provider of the file. Without `exec` it is not usable and `problem` says why. */
export interface Provider {
  readonly name: string;
  readonly exec?: ExecSettings;
  readonly problem?: string;
  readonly argsPolicy: (typeof argsPolicies)[number];
  readonly envPolicy: (typeof envPolicies)[number];
  /** Ours, ignored by Go: trust the system's certificate authorities when the profile brings none. */
  readonly systemRoots: boolean;
}

/** A provider file: the ways in that this consumer knows, in order of preference. Spec: cluster-inventory.md 2.2. */
export interface ProviderFile {
  readonly providers: readonly Provider[];
  /** What works but is probably not meant. */
  readonly warnings: readonly string[];
}

export interface ProviderFileSource {
  /** For messages. */
  readonly path: string;
  readonly format: "json" | "yaml";
}

const maxCharacters = 256 * 1024;

/**
 * Reads the text of a provider file as tolerantly as the Go loader: keys match in any case, unknown keys are ignored. A
 * provider that cannot work is marked, the others stay usable. The result is deeply frozen.
 *
 * Throws `FleetError` `ConfigInvalid` with code `ProviderFileInvalid`; its message has the position and never the text.
 */
export function parseProviderFile(content: string, source: ProviderFileSource): ProviderFile {
  const { file, warnings } = readRaw(content, source);
  const providers = (file.providers ?? []).map((raw, index) => providerOf(raw, index));
  return Object.freeze({
    providers: Object.freeze(providers),
    warnings: Object.freeze([...warnings, ...oddities(file.providers ?? [])]),
  });
}

interface RawFile {
  readonly file: RawProviderFile;
  readonly warnings: readonly string[];
}

function readRaw(content: string, { path, format }: ProviderFileSource): RawFile {
  try {
    if (content.length > maxCharacters) throw new ContentError("it is larger than 256 KiB");
    const parsed = format === "yaml" ? parseYaml(content) : parseStrictJson(content);
    return checked(parsed ?? {});
  } catch (error) {
    // A RangeError is the stack of a parser that followed a nesting without end.
    const known = error instanceof ContentError || error instanceof RangeError;
    if (!known) throw error;
    const what = error instanceof ContentError ? error.message : "it is nested too deeply";
    throw new FleetError("ConfigInvalid", `The provider file ${path} is not usable: ${what}`, {
      code: "ProviderFileInvalid",
    });
  }
}

/** What is wrong with the content, as the end of a sentence; never quotes it. */
class ContentError extends Error {}

function parseStrictJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new ContentError(`it is not JSON at ${jsonErrorPosition(content)}`);
  }
}

function parseYaml(content: string): unknown {
  const document = parseDocument(content, { prettyErrors: true, logLevel: "silent" });
  const [problem] = document.errors;
  if (problem !== undefined) {
    const start = problem.linePos?.[0];
    const place = start === undefined ? "" : ` at line ${start.line}, column ${start.col}`;
    throw new ContentError(`it is not YAML${place} (${problem.code})`);
  }
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch {
    throw new ContentError("it has too many aliases");
  }
}

function checked(parsed: unknown): RawFile {
  const { value, warnings } = canonicalKeys(parsed, providerFileSchema);
  const validate = new Ajv().compile<RawProviderFile>(providerFileSchema);
  if (validate(value)) return { file: value, warnings };
  const problem = validate.errors?.[0];
  const path = (problem?.instancePath ?? "").replace(/\/(\d+)/g, "[$1]").replaceAll("/", ".");
  throw new ContentError(
    `${path.replace(/^\./, "") || "the top level"} ${problem?.message ?? "is wrong"}`,
  );
}

function providerOf(raw: RawProvider, index: number): Provider {
  const name = raw.name ?? "";
  const argsPolicy = wordOf(raw.profileSourcedCLIArgsPolicy, argsPolicies);
  const envPolicy = wordOf(raw.profileSourcedEnvVarsPolicy, envPolicies);
  const common = {
    name,
    argsPolicy: argsPolicy ?? "Ignore",
    envPolicy: envPolicy ?? "Ignore",
    systemRoots: raw.systemRoots ?? false,
  };
  const problem =
    (argsPolicy === undefined ? "profileSourcedCLIArgsPolicy is not a known word" : undefined) ??
    (envPolicy === undefined ? "profileSourcedEnvVarsPolicy is not a known word" : undefined);
  const exec = problem ?? execOf(raw.execConfig);
  return Object.freeze(
    typeof exec === "string"
      ? { ...common, problem: `providers[${index}]: ${exec}` }
      : { ...common, exec },
  );
}

/** The settings, or why there are none. */
function execOf(raw: RawExec | undefined): ExecSettings | string {
  if (raw === undefined) return "execConfig is missing";
  const apiVersion = execApiVersions.find((version) => version === raw.apiVersion);
  if (apiVersion === undefined) {
    return `execConfig.apiVersion has to be ${execApiVersions.join(" or ")}`;
  }
  if (raw.command === undefined || raw.command === "") return "execConfig.command is missing";
  const env = (raw.env ?? []).flatMap(({ name = "", value = "" }) =>
    name === "" ? [] : [Object.freeze({ name, value })],
  );
  const args = Object.freeze([...(raw.args ?? [])]);
  const problem = impossible(args, env);
  if (problem !== undefined) return problem;
  return Object.freeze({
    apiVersion,
    command: raw.command,
    args,
    env: Object.freeze(env),
    provideClusterInfo: raw.provideClusterInfo ?? false,
    installHint: raw.installHint ?? "",
  });
}

/** Why no process can be started with these, if so. */
function impossible(
  args: readonly string[],
  env: readonly EnvironmentVariable[],
): string | undefined {
  const texts = [...args, ...env.flatMap(({ name, value }) => [name, value])];
  if (texts.some((text) => text.includes("\0"))) {
    return "execConfig.args or env holds a NUL character";
  }
  return undefined;
}

function wordOf<Word extends string>(
  given: string | undefined,
  words: readonly [Word, ...Word[]],
): Word | undefined {
  if (given === undefined || given === "") return words[0];
  return words.find((word) => word === given);
}

function oddities(providers: readonly RawProvider[]): readonly string[] {
  const names = providers.map(({ name = "" }) => name);
  return providers.flatMap(({ execConfig = {} }, index) => {
    const place = `providers[${index}]`;
    const repeated = names.indexOf(names[index] ?? "") < index;
    return [
      ...(repeated ? [`${place}: the name is declared before; the first one is used`] : []),
      ...execOddities(execConfig).map((oddity) => `${place}.execConfig.${oddity}`),
    ];
  });
}

function execOddities(exec: RawExec): readonly string[] {
  const { command = "", env = [], interactiveMode = "" } = exec;
  const variables = env.map(({ name = "" }) => name);
  const found: readonly (readonly [boolean, string])[] = [
    [command !== "" && !command.startsWith("/"), "command: not an absolute path"],
    [variables.includes(""), "env: an entry without a name is ignored"],
    [
      new Set(variables).size < variables.length,
      "env: a name is declared more than once; the last one is used",
    ],
    [
      interactiveMode !== "" && interactiveMode !== "Never",
      "interactiveMode: treated as Never, nobody is there to answer",
    ],
  ];
  return found.flatMap(([isOdd, oddity]) => (isOdd ? [oddity] : []));
}
