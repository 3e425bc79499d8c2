import { isAbsolute } from "node:path";

import type { RequestObserver } from "../../access/http/request.ts";
import type { RecordedFleet } from "./bundle/bundle.ts";
import { UsageError } from "./errors.ts";
import {
  type GivenFlags,
  givenHubFlags,
  type HubFlags,
  hubOverrides,
  type RawHubFlags,
} from "./hub/hub-flags.ts";
import type { MalformedObjects } from "./hub/malformed-objects.ts";
import { parseDurationMs, parseTimeoutMs } from "./output/duration.ts";
import { type ExtraFormat, type OutputFormat, outputOf } from "./output/output-format.ts";
import type { ColourMode } from "./output/terminal.ts";

/** Values of the flags of all commands, as they come from the command line. */
export interface RawFlags extends RawHubFlags {
  readonly allNamespaces?: boolean;
  readonly namespace?: string;
  readonly selector?: string;
  readonly cluster?: string;
  readonly on?: string;
  readonly failed?: boolean;
  readonly reason?: string;
  readonly output?: string;
  readonly sortBy?: string;
  readonly absoluteTime?: boolean;
  readonly headers?: boolean;
  readonly color?: string;
  readonly quiet?: boolean;
  readonly v?: string;
  readonly input?: boolean;
  readonly failFast?: boolean;
  readonly outputVersion?: string;
  readonly clusterprofileProviderFile?: string;
  readonly pluginNamespace?: string;
  readonly pluginRoot?: readonly string[];
  readonly releaseDir?: string;
  readonly concurrency?: string;
  readonly spokeTimeout?: string;
  readonly chunkSize?: string;
  readonly timeout?: string;
  readonly bundle?: string;
}

/** The parsed and checked flags. Durations in milliseconds. */
export interface Flags {
  /** Undefined: all namespaces. Null: the namespace of the kubeconfig context. */
  readonly namespace: string | null | undefined;
  readonly selector: string | undefined;
  /** Glob for names of ClusterProfiles. */
  readonly cluster: string | undefined;
  /** Selector for labels and properties of ClusterProfiles. */
  readonly on: string | undefined;
  readonly failed: boolean;
  readonly reason: string | undefined;
  readonly output: OutputFormat;
  /** The text after `=` of `-o jsonpath=` and similar formats. */
  readonly template: string;
  /** False: `output` is the default of most commands, and another command may have its own. */
  readonly outputGiven: boolean;
  /** The file to write: a value of `-o` that is no format, of a command that writes one. */
  readonly outputFile?: string;
  readonly sortBy: string | undefined;
  /** True: times instead of ages. */
  readonly absoluteTime: boolean;
  readonly headers: boolean;
  readonly color: ColourMode;
  readonly quiet: boolean;
  /** False: ask no questions. */
  readonly input: boolean;
  /** True: the first failure ends the command. Undefined: the default of the command. */
  readonly failFast: boolean | undefined;
  /** From 6 on, requests are shown, from 9 on with their bodies. */
  readonly verbosity: number;
  /** Called after each request. */
  readonly onRequest?: RequestObserver;
  /** Called with a line for the user about how the command works. Absent: no notes. */
  readonly onNote?: (line: string) => void;
  readonly providerFile: string | undefined;
  readonly pluginNamespace: string | undefined;
  /** Folders that must contain exec plugins. Empty: any folder. */
  readonly pluginRoots: readonly string[];
  /** Folder with release files, also of the settings file. Undefined: `findReleases` finds one. */
  readonly releaseDir: string | undefined;
  readonly concurrency: number;
  readonly spokeTimeoutMs: number;
  /** Objects in one answer to a list. 0: all at once. */
  readonly chunkSize: number;
  /** False: `spokeTimeoutMs` is the default of most commands, and another command may have its own. */
  readonly spokeTimeoutGiven: boolean;
  readonly timeoutMs: number;
  /** False: `timeoutMs` is the default, which does not limit commands that watch. */
  readonly timeoutGiven: boolean;
  /** `--timeout 0`: `wait` reads once. */
  readonly timeoutZero?: boolean;
  readonly hub: HubFlags;
  /** The flags that pasted commands have to repeat. */
  readonly given: GivenFlags;
  /** Path of a bundle to read instead of the fleet. */
  readonly bundle: string | undefined;
  /** What the command has met that has not the form of its kind. */
  readonly malformed?: MalformedObjects;
  /** The fleet of the bundle, after it was read. */
  readonly recorded?: RecordedFleet;
}

function foldersOf(folders: readonly string[], flag: string): readonly string[] {
  const relative = folders.find((folder) => !isAbsolute(folder));
  if (relative === undefined) return folders;
  throw new UsageError(`Invalid value "${relative}" for ${flag}: want an absolute path`);
}

/** The flags that select installations. */
function filtersOf(
  raw: RawFlags,
): Pick<Flags, "namespace" | "selector" | "cluster" | "on" | "failed" | "reason"> {
  return {
    namespace: raw.allNamespaces === true ? undefined : (nonEmpty(raw.namespace) ?? null),
    selector: raw.selector,
    cluster: nonEmpty(raw.cluster),
    on: nonEmpty(raw.on),
    failed: raw.failed ?? false,
    reason: nonEmpty(raw.reason),
  };
}

/** The flags for the output and the interaction with the user. */
function outputFlagsOf(
  raw: RawFlags,
): Pick<
  Flags,
  "sortBy" | "absoluteTime" | "headers" | "color" | "quiet" | "input" | "failFast" | "verbosity"
> {
  checkOutputVersion(raw.outputVersion ?? "v1");
  return {
    sortBy: nonEmpty(raw.sortBy),
    absoluteTime: raw.absoluteTime ?? false,
    headers: raw.headers ?? true,
    color: oneOf(raw.color ?? "auto", ["auto", "always", "never"], "--color"),
    quiet: raw.quiet ?? false,
    input: raw.input ?? true,
    failFast: raw.failFast,
    verbosity: verbosityOf(raw.v ?? "0"),
  };
}

/** Parses the flags and fills in defaults. Throws UsageError that names the flag. */
export function readFlags(
  raw: RawFlags,
  env: Readonly<Record<string, string | undefined>>,
  formats: readonly ExtraFormat[] = [],
): Flags {
  const { format, template } = outputOf(raw.output ?? "table", formats);
  return {
    ...filtersOf(raw),
    output: format,
    template,
    outputGiven: raw.output !== undefined,
    ...outputFlagsOf(raw),
    providerFile: nonEmpty(raw.clusterprofileProviderFile ?? env["KNFLEET_PROVIDER_FILE"]),
    pluginNamespace: nonEmpty(raw.pluginNamespace ?? env["KNFLEET_PLUGIN_NAMESPACE"]),
    pluginRoots: foldersOf(raw.pluginRoot ?? [], "--plugin-root"),
    releaseDir: nonEmpty(raw.releaseDir),
    concurrency: countOf(raw.concurrency ?? "16", "--concurrency"),
    chunkSize: chunkSizeOf(raw.chunkSize),
    spokeTimeoutMs: timeoutOf(raw.spokeTimeout, "--spoke-timeout", 10_000),
    spokeTimeoutGiven: raw.spokeTimeout !== undefined,
    ...commandTimeoutOf(raw.timeout),
    bundle: nonEmpty(raw.bundle),
    hub: {
      kubeconfig: nonEmpty(raw.kubeconfig),
      context: nonEmpty(raw.context),
      overrides: hubOverrides(raw),
      requestTimeoutMs: timeoutOf(raw.requestTimeout, "--request-timeout", 10_000),
    },
    given: givenFlags(raw),
  };
}

/** The flags that a pasted command has to repeat. */
export function givenFlags(typed: RawFlags): GivenFlags {
  return {
    hub: givenHubFlags(typed),
    hasToken: nonEmpty(typed.token) !== undefined,
    releaseDir: nonEmpty(typed.releaseDir),
    way: [
      ["--clusterprofile-provider-file", nonEmpty(typed.clusterprofileProviderFile)],
      ["--plugin-namespace", nonEmpty(typed.pluginNamespace)],
      ...(typed.pluginRoot ?? []).map((folder) => ["--plugin-root", folder]),
    ].flatMap(([flag = "", value]) => (value === undefined ? [] : [[flag, value]])),
  };
}

/** The folders with release files that the command line and the settings name, for `findReleases`. */
export function releaseFolders({ given, releaseDir }: Pick<Flags, "given" | "releaseDir">) {
  return { named: given.releaseDir, settled: releaseDir };
}

/** Checks that a value is one of a set of words. Throws UsageError that lists them. */
export function oneOf<Word extends string>(
  value: string,
  words: readonly Word[],
  flag: string,
): Word {
  const word = words.find((candidate) => candidate === value);
  if (word !== undefined) return word;
  throw new UsageError(`Invalid value "${value}" for ${flag}: want ${words.join(", ")}`);
}

/** Documents have only version v1. A script that requests v1 gets it from later versions, too. */
function checkOutputVersion(text: string): void {
  const { version } = /^(?:knfleet\.dev\/)?(?<version>.+)$/.exec(text)?.groups ?? {};
  oneOf(version ?? text, ["v1"], "--output-version");
}

function verbosityOf(text: string): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  throw new UsageError(`Invalid value "${text}" for -v: want a number from 0 to 10`);
}

function countOf(text: string, flag: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw new UsageError(`Invalid value "${text}" for ${flag}: want a number from 1 to 9999`);
}

function chunkSizeOf(text = "500"): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new UsageError(
    `Invalid value "${text}" for --chunk-size: want a number, or 0 for no limit`,
  );
}

const defaultTimeoutMs = 60_000;

/** The time limit of the command. Zero means that the user sets none. */
function commandTimeoutOf(
  text: string | undefined,
): Pick<Flags, "timeoutMs" | "timeoutGiven" | "timeoutZero"> {
  if (text === undefined) return { timeoutMs: defaultTimeoutMs, timeoutGiven: false };
  const spanMs = parseTimeoutMs(text, "--timeout");
  return spanMs === 0
    ? { timeoutMs: defaultTimeoutMs, timeoutGiven: false, timeoutZero: true }
    : { timeoutMs: spanMs, timeoutGiven: true };
}

// Zero means "no limit" in kubectl. Here it means the default, because nothing may wait for ever.
function timeoutOf(text: string | undefined, flag: string, fallbackMs: number): number {
  const spanMs = text === undefined ? 0 : parseDurationMs(text, flag);
  return spanMs === 0 ? fallbackMs : spanMs;
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
