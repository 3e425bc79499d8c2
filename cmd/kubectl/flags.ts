import { isAbsolute } from "node:path";

import { Option } from "commander";

import { parseDurationMs } from "./duration.ts";
import type { ColourMode } from "./print/colour.ts";
import { UsageError } from "./usage-error.ts";

export const outputFormats = ["table", "wide", "json", "yaml"] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Flags that every command understands, before and after its name, as they come from the command line. */
export interface RawFlags {
  readonly allNamespaces?: boolean;
  readonly namespace?: string;
  readonly selector?: string;
  readonly output?: string;
  readonly headers?: boolean;
  readonly color?: string;
  readonly quiet?: boolean;
  readonly clusterprofileProviderFile?: string;
  readonly pluginNamespace?: string;
  readonly pluginRoot?: readonly string[];
  readonly concurrency?: string;
  readonly spokeTimeout?: string;
  readonly timeout?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly requestTimeout?: string;
}

/** The same flags, read and checked. Durations in milliseconds. */
export interface Flags {
  /** Undefined: all namespaces. `null`: the one of the kubeconfig context. */
  readonly namespace: string | null | undefined;
  readonly selector: string | undefined;
  readonly output: OutputFormat;
  /** False: `output` is the default of most commands, and another command may have its own. */
  readonly outputGiven: boolean;
  readonly headers: boolean;
  readonly color: ColourMode;
  readonly quiet: boolean;
  readonly providerFile: string | undefined;
  readonly pluginNamespace: string | undefined;
  /** Folders below which exec plugins have to be; empty: anywhere. */
  readonly pluginRoots: readonly string[];
  readonly concurrency: number;
  readonly spokeTimeoutMs: number;
  readonly timeoutMs: number;
  readonly hub: HubFlags;
}

/** What names the hub. */
export interface HubFlags {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly requestTimeoutMs: number;
}

const commonGroup = "Common flags:";

/** The flags of all commands that their help shows. */
export function commonOptions(): readonly Option[] {
  return [
    new Option("-A, --all-namespaces", "look in all namespaces of the hub; -n is ignored then"),
    new Option("-n, --namespace <name>", "namespace of the hub (default: that of the context)"),
    new Option("-l, --selector <labels>", "installations with these labels, such as env=prod"),
    new Option("-o, --output <format>", outputFormats.join("|")),
    new Option("--no-headers", "tables without the header line"),
    new Option("--color <when>", "auto|always|never; NO_COLOR is honoured"),
    new Option("-q, --quiet", "nothing on standard error but errors"),
    new Option(
      "--clusterprofile-provider-file <file>",
      "access providers, as the controller's; needed to reach spokes (env KNFLEET_PROVIDER_FILE)",
    ),
    new Option(
      "--plugin-namespace <name>",
      "namespace of the hub in which exec plugins look, such as the controller's (env KNFLEET_PLUGIN_NAMESPACE)",
    ),
    new Option(
      "--plugin-root <folder>",
      "folder that exec plugins have to be in; can be given several times (default: anywhere)",
    ).argParser(collected),
    new Option("--concurrency <number>", "spokes read at the same time (default 16)"),
    new Option("--spoke-timeout <duration>", "time for one spoke (default 10s)"),
    new Option("--timeout <duration>", "time for the whole command (default 1m)"),
    new Option("--context <name>", "kubeconfig context of the hub"),
    new Option("--kubeconfig <file>", "kubeconfig file of the hub"),
    new Option("--request-timeout <duration>", "time for one request to the hub (default 10s)"),
  ].map((option) => option.helpGroup(commonGroup));
}

/** Flags of `kubectl options` that change nothing here; scripts may pass them all the same. */
export function ignoredOptions(): readonly Option[] {
  return [
    new Option("--cache-dir <folder>", "no discovery, no cache"),
    new Option("--disable-compression", "answers are small"),
    new Option("--warnings-as-errors", "no warnings of the server are shown"),
  ].map((option) => option.hideHelp());
}

const kubectlOnly = [
  ..."--cluster --user --server --token --as --as-group --as-uid --as-user-extra".split(" "),
  ..."--certificate-authority --client-certificate --client-key --tls-server-name".split(" "),
  ..."--insecure-skip-tls-verify -s -v --v -w --watch --field-selector --sort-by".split(" "),
  ..."--show-labels --chunk-size".split(" "),
];

/** Throws UsageError for a flag that kubectl has and this program does not know yet. */
export function refuseKubectlOnly(args: readonly string[]): void {
  const end = args.indexOf("--");
  const flags = (end < 0 ? args : args.slice(0, end)).map((arg) => arg.replace(/=.*$/s, ""));
  const found = flags.find((flag) => kubectlOnly.includes(flag));
  if (found === undefined) return;
  throw new UsageError(`kubectl's flag ${found} is not supported by kubectl knfleet yet`, [
    "choose the hub and its user with --kubeconfig and --context",
  ]);
}

const switches = [
  "-A",
  "--all-namespaces",
  "--no-headers",
  "-q",
  "--quiet",
  "--no-live",
  "--client",
];

/**
 * The command line in the one form that the parser knows: `-o=json` becomes `-o json`, `--quiet=true` becomes
 * `--quiet`, `--quiet=false` disappears; what follows `--` stays as it is.
 */
export function normalizedArgs(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  const flagsEnd = end < 0 ? args.length : end;
  const flags = args.slice(0, flagsEnd).flatMap((arg) => {
    const [, name = "", value = ""] = /^(-{1,2}[A-Za-z][\w-]*)=(.*)$/s.exec(arg) ?? [];
    if (switches.includes(name)) return switchOf(name, value);
    return /^-[A-Za-z]$/.test(name) ? [name, value] : [arg];
  });
  return [...flags, ...args.slice(flagsEnd)];
}

function collected(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

function foldersOf(folders: readonly string[], flag: string): readonly string[] {
  const wrong = folders.find((folder) => !isAbsolute(folder));
  if (wrong === undefined) return folders;
  throw new UsageError(`Invalid value "${wrong}" for ${flag}: want an absolute path`);
}

function switchOf(name: string, value: string): readonly string[] {
  if (["true", "1", "t"].includes(value.toLowerCase())) return [name];
  if (["false", "0", "f"].includes(value.toLowerCase())) return [];
  throw new UsageError(`Invalid value "${value}" for ${name}: want true or false`);
}

/** Checks the flags and fills in defaults. Throws UsageError that names the flag. */
export function readFlags(raw: RawFlags, env: Readonly<Record<string, string | undefined>>): Flags {
  return {
    namespace: raw.allNamespaces === true ? undefined : (raw.namespace ?? null),
    selector: raw.selector,
    output: oneOf(raw.output ?? "table", outputFormats, "--output"),
    outputGiven: raw.output !== undefined,
    headers: raw.headers ?? true,
    color: oneOf(raw.color ?? "auto", ["auto", "always", "never"], "--color"),
    quiet: raw.quiet ?? false,
    providerFile: nonEmpty(raw.clusterprofileProviderFile ?? env["KNFLEET_PROVIDER_FILE"]),
    pluginNamespace: nonEmpty(raw.pluginNamespace ?? env["KNFLEET_PLUGIN_NAMESPACE"]),
    pluginRoots: foldersOf(raw.pluginRoot ?? [], "--plugin-root"),
    concurrency: countOf(raw.concurrency ?? "16", "--concurrency"),
    spokeTimeoutMs: timeoutOf(raw.spokeTimeout, "--spoke-timeout", 10_000),
    timeoutMs: timeoutOf(raw.timeout, "--timeout", 60_000),
    hub: {
      kubeconfig: nonEmpty(raw.kubeconfig),
      context: nonEmpty(raw.context),
      requestTimeoutMs: timeoutOf(raw.requestTimeout, "--request-timeout", 10_000),
    },
  };
}

/** One of a closed set of words; throws UsageError that lists them. */
export function oneOf<Word extends string>(
  value: string,
  words: readonly Word[],
  flag: string,
): Word {
  const word = words.find((candidate) => candidate === value);
  if (word !== undefined) return word;
  throw new UsageError(`Invalid value "${value}" for ${flag}: want ${words.join(", ")}`);
}

function countOf(text: string, flag: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw new UsageError(`Invalid value "${text}" for ${flag}: want a number from 1 to 9999`);
}

// Zero means "no limit" to kubectl; here nothing may wait for ever, so it means the default.
function timeoutOf(text: string | undefined, flag: string, fallbackMs: number): number {
  const spanMs = text === undefined ? 0 : parseDurationMs(text, flag);
  return spanMs === 0 ? fallbackMs : spanMs;
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
