import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";

import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";

import { type ReferenceMode, referenceModes } from "../../access/providers/reference-policy.ts";
import type { ReferenceSettings } from "../../access/providers/references.ts";
import { type AllowedSource, allowedSourceOf } from "../../access/urls/allowed-source.ts";
import { goDurationMs } from "../../api/go-duration.ts";
import {
  defaultSpokeNamespace,
  spokeNamespaceModes,
} from "../../installation/installation-namespace.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export const logFormats = ["json", "text"] as const;

/** The command line is wrong, or asks only for `--help` or `--version`. */
export interface Refusal {
  /** Text for standard output (code 0), or one line for standard error. */
  readonly text: string;
  readonly exitCode: 0 | 1;
}

/** Parses the arguments into the options of a command. Returns the text to print instead of starting, if any. */
export function parseArguments(command: Command, args: readonly string[]): Refusal | undefined {
  let output = "";
  command.exitOverride().configureOutput({
    writeOut: (text) => (output += text),
    writeErr: (text) => (output += text),
  });
  try {
    command.parse(args, { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { text: output, exitCode: 0 };
    return { text: `${error.message.replace(/^error: /, "Error: ")}\n`, exitCode: 1 };
  }
}

/** The flags of the log. */
export function logOptions(): readonly Option[] {
  return [
    new Option("--log-level <level>", "least important lines to write")
      .choices(logLevels)
      .default("info"),
    new Option("--log-format <format>", "form of a line").choices(logFormats).default("json"),
  ];
}

/** The flag for the namespace on spokes, the same for all programs. */
export function spokeNamespaceOption(): Option {
  return new Option(
    "--spoke-namespace <mode>",
    "namespace of new installations on spokes: knative-serving and knative-eventing, or that of the component",
  )
    .choices(spokeNamespaceModes)
    .default(defaultSpokeNamespace);
}

/** Adds an absolute path to the earlier ones. */
export function withFolder(folder: string, before: readonly string[]): readonly string[] {
  return [...before, aFolder(folder)];
}

/** The path of a folder. */
export function aFolder(folder: string): string {
  if (isAbsolute(folder)) return folder;
  throw new InvalidArgumentError("Want an absolute path.");
}

/** Adds a name to the earlier ones. */
export function withText(text: string, before: readonly string[]): readonly string[] {
  if (text.trim() !== "") return [...before, text];
  throw new InvalidArgumentError("Want a name.");
}

/** Adds a prefix of URLs to the earlier ones. */
export function withSource(
  text: string,
  before: readonly AllowedSource[],
): readonly AllowedSource[] {
  const source = allowedSourceOf(text);
  if (source !== undefined) return [...before, source];
  throw new InvalidArgumentError("Want https://host/path/, without a query.");
}

/** Milliseconds of a Go duration. */
export function durationOf(text: string): number {
  const ms = goDurationMs(text);
  if (ms === undefined) throw new InvalidArgumentError("Want a duration such as 10s or 1m30s.");
  return ms;
}

/** A boolean flag with a value. */
export function switchOf(text: string): boolean {
  const value = text.toLowerCase();
  if (["true", "t", "1"].includes(value)) return true;
  if (["false", "f", "0"].includes(value)) return false;
  throw new InvalidArgumentError("Want true or false.");
}

/** The address to listen on. */
export function addressOf(
  text: string,
): { readonly host?: string; readonly port: number } | "nowhere" {
  if (text === "0" || text === "") return "nowhere";
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) > 65_535) {
    throw new InvalidArgumentError("Want [host]:port, or 0 for nowhere.");
  }
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  return bare === "" ? { port: Number(port) } : { host: bare, port: Number(port) };
}

/** Flags of both programs for who may use which ClusterProfile. */
export interface ReferenceFlags {
  readonly referenceMode: ReferenceMode;
  readonly referenceGrants: string | undefined;
  readonly trustedInventoryNamespace: readonly string[];
  readonly trustedClusterManager: readonly string[];
}

/** The same flags as options. A test compares docs/flags.md with them. */
export function referenceOptions(): readonly Option[] {
  return [
    new Option(
      "--reference-mode <mode>",
      "ClusterProfiles that components may name: of their own namespace, of those that they are granted, or any",
    )
      .choices(referenceModes)
      .default("Any"),
    new Option(
      "--reference-grants <file>",
      "with --reference-mode=Granted: who may use ClusterProfiles of another namespace, YAML or JSON",
    ),
    new Option(
      "--trusted-inventory-namespace <name>",
      "namespace whose ClusterProfiles are believed; can be given several times",
    )
      .argParser(withText)
      .default([], "all"),
    new Option(
      "--trusted-cluster-manager <name>",
      "spec.clusterManager.name of ClusterProfiles that are believed; can be given several times",
    )
      .argParser(withText)
      .default([], "all"),
  ];
}

/** The settings of the flags. */
export function referenceSettings(flags: ReferenceFlags): ReferenceSettings {
  const { referenceMode: mode, referenceGrants: grantsFile } = flags;
  const { trustedInventoryNamespace: namespaces, trustedClusterManager: managers } = flags;
  return {
    mode,
    ...(grantsFile === undefined ? {} : { grantsFile }),
    ...(namespaces.length === 0 ? {} : { trustedNamespaces: namespaces }),
    ...(managers.length === 0 ? {} : { trustedManagers: managers }),
  };
}

const defaultNamespace = "knfleet-system";
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/** The namespace of the pod, or the default one outside a pod. */
export async function podNamespace(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const named = environment["POD_NAMESPACE"] ?? "";
  if (named !== "") return named;
  const mounted = await readFile(podNamespaceFile, "utf8").catch(() => "");
  return mounted.trim() === "" ? defaultNamespace : mounted.trim();
}
