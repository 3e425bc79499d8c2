import { Option } from "commander";

import { outputText } from "./output/output-format.ts";

/** Headings under which help lists the flags of all commands. */
export const optionGroups = {
  common: "Common flags:",
  connection: "Connection flags:",
} as const;

/** The flags that every command understands, before and after its name. */
export function commonOptions(): readonly Option[] {
  return [
    new Option("-A, --all-namespaces", "look in all namespaces of the hub; -n is ignored then"),
    new Option("-n, --namespace <name>", "namespace of the hub (default: that of the context)"),
    new Option("-l, --selector <labels>", "installations with these labels, such as env=prod"),
    new Option(
      "--cluster <glob>",
      "installations on these ClusterProfiles: NAME or NAMESPACE/NAME, with * and ?",
    ),
    new Option(
      "--on <selector>",
      "installations on ClusterProfiles with these labels or properties, such as region=eu",
    ),
    new Option("--failed", "only installations that are not healthy"),
    new Option("--reason <reason>", "only installations with this reason"),
    new Option("-o, --output <format>", outputText),
    new Option("--sort-by <jsonpath>", "order of the rows by a field, such as .cluster.name"),
    new Option("--no-headers", "tables without the header line"),
    new Option("--absolute-time", "times in UTC instead of ages"),
    new Option("--color <when>", "auto|always|never; NO_COLOR is honoured"),
    new Option("-q, --quiet", "nothing on standard error but errors"),
    new Option("--output-version <version>", "of the documents of -o json and yaml: v1"),
    new Option(
      "--fail-fast",
      "the first failure ends the command, such as a cluster that cannot be read; wait does so by itself",
    ),
    new Option(
      "--no-fail-fast",
      "go on after a failure; all commands but wait do so by themselves",
    ),
    new Option("--no-input", "ask nothing: what has to be agreed to is refused without --yes"),
    new Option("-v, --v <level>", "6: requests on standard error; 9: with bodies, without secrets"),
    ...wayOptions(),
  ].map((option) => option.helpGroup(optionGroups.common));
}

/** Flags for the access to spokes and its time limits. */
function wayOptions(): readonly Option[] {
  return [
    new Option(
      "--clusterprofile-provider-file <file>",
      "access providers, as the controller's (default: those in the hub's ConfigMap; env KNFLEET_PROVIDER_FILE)",
    ),
    new Option(
      "--plugin-namespace <name>",
      "namespace of the hub in which exec plugins look, such as the controller's (env KNFLEET_PLUGIN_NAMESPACE)",
    ),
    new Option(
      "--plugin-root <folder>",
      "folder that exec plugins have to be in; can be given several times (default: anywhere)",
    ).argParser(several),
    new Option(
      "--release-dir <folder>",
      "Knative's release files (default: those of the cache, which is filled when it is empty; env KNFLEET_RELEASE_DIR)",
    ),
    new Option(
      "--bundle <file>",
      "read what gather has written, in place of the fleet; no server is asked",
    ),
    new Option("--concurrency <number>", "spokes read at the same time (default 16)"),
    new Option("--spoke-timeout <duration>", "time for one spoke (default 10s)"),
    new Option("--timeout <duration>", "time for the whole command (default 1m; wait: 10m)"),
  ];
}

/** Flags for the hub, with the names and meanings of kubectl. */
export function connectionOptions(): readonly Option[] {
  return [
    new Option("--context <name>", "kubeconfig context of the hub"),
    new Option("--kubeconfig <file>", "kubeconfig file of the hub"),
    new Option("--hub-cluster <name>", "cluster of the kubeconfig; kubectl's --cluster"),
    new Option("--user <name>", "user of the kubeconfig"),
    new Option("-s, --server <url>", "address of the hub's API server"),
    new Option(
      "--token <token>",
      "bearer token for the hub; others can see it in the process list",
    ),
    new Option("--as <user>", "user to impersonate on the hub"),
    new Option("--as-group <group>", "group to impersonate; can be given several times").argParser(
      several,
    ),
    new Option("--as-uid <uid>", "uid to impersonate"),
    new Option(
      "--as-user-extra <key=value>",
      "extra field to impersonate; can be given several times",
    ).argParser(several),
    new Option("--certificate-authority <file>", "authority of the hub's certificate"),
    new Option("--client-certificate <file>", "client certificate for the hub"),
    new Option("--client-key <file>", "key of the client certificate"),
    new Option("--insecure-skip-tls-verify", "trust any certificate of the hub"),
    new Option("--tls-server-name <name>", "name that the hub's certificate has to have"),
    new Option("--request-timeout <duration>", "time for one request to the hub (default 10s)"),
  ].map((option) => option.helpGroup(optionGroups.connection));
}

/** The flag of kubectl for long lists, which help does not show. */
export function chunkSizeOption(): Option {
  return new Option(
    "--chunk-size <number>",
    "objects in one answer to get (default 500)",
  ).hideHelp();
}

/** Value of the flag `--filename`. */
export interface FilenameFlag {
  readonly filename?: string;
}

/** Adds a value to the earlier ones, for options that can be repeated. */
export function several(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
