import { Command, InvalidArgumentError, Option } from "commander";

import type { AllowedSource } from "../../access/urls/allowed-source.ts";
import type { GuardOwner } from "../../installation/guard/guard-view.ts";
import type { SpokeNamespaceMode } from "../../installation/installation-namespace.ts";
import type { ListenAddress, WebhookServerOptions } from "../../webhook/server.ts";
import {
  addressOf,
  durationOf,
  type logFormats,
  type logLevels,
  logOptions,
  type ReferenceFlags,
  referenceOptions,
  type Refusal,
  parseArguments,
  spokeNamespaceOption,
  switchOf,
  withFolder,
  withSource,
  withText,
} from "./flag-values.ts";

/** The parsed flags of `knfleet-webhook`. */
export interface WebhookFlags extends ReferenceFlags {
  readonly kubeconfig: string | undefined;
  readonly address: ListenAddress;
  readonly healthAddress: ListenAddress | "nowhere";
  readonly tlsMinVersion: keyof typeof tlsVersions;
  readonly namespace: string | undefined;
  readonly serviceName: string;
  readonly certificates: (typeof certificateModes)[number];
  readonly certificateDir: string;
  readonly secretName: string;
  readonly webhookConfiguration: readonly string[];
  /** In milliseconds, like all durations. */
  readonly certificateLifetime: number;
  readonly authorityLifetime: number;
  readonly clientCaFile: string | undefined;
  readonly clientName: readonly string[];
  readonly drainPeriod: number;
  readonly companionOf: (typeof operators)[number];
  readonly spokeNamespace: SpokeNamespaceMode;
  /** Empty: none. Undefined: `findReleases` finds one. */
  readonly releaseDir: string | undefined;
  readonly manifestSource: readonly AllowedSource[];
  readonly checkSource: readonly AllowedSource[];
  readonly pluginRoot: readonly string[];
  readonly providerFile: string | undefined;
  readonly manifestRight: boolean;
  readonly controllerUser: string | undefined;
  readonly guard: readonly GuardOwner[];
  readonly guardOnly: boolean;
  readonly logLevel: (typeof logLevels)[number];
  readonly logFormat: (typeof logFormats)[number];
}

const certificateModes = ["self-managed", "files"] as const;
const operators = ["knfleet", "upstream"] as const;
const tlsVersions = { "1.2": "TLSv1.2", "1.3": "TLSv1.3" } as const satisfies Readonly<
  Record<string, WebhookServerOptions["minTlsVersion"]>
>;
// A new authority needs three seconds to become trusted, in the last third of the life of the old one.
const minLifetimeMs = 15_000;

const description = `Answers admission reviews of the hub: refuses components, sets and provider files that cannot work, and guards anchors.

Runs on the hub, with a kubeconfig or as a pod. docs/flags.md says more about each flag, docs/webhook.md what it refuses.`;

/** Parses the flags. Returns a Refusal with the text to print instead of starting. `args`: those after the program's name. */
export function readWebhookFlags(args: readonly string[], version: string): WebhookFlags | Refusal {
  const command = webhookCommand(version);
  return parseArguments(command, args) ?? command.opts<WebhookFlags>();
}

/** The TLS version in the form of Node. */
export function tlsVersionOf({
  tlsMinVersion,
}: Pick<WebhookFlags, "tlsMinVersion">): WebhookServerOptions["minTlsVersion"] {
  return tlsVersions[tlsMinVersion];
}

/** The command of commander. A test compares docs/flags.md with its options. */
export function webhookCommand(version: string): Command {
  const command = new Command("knfleet-webhook")
    .description(description)
    .usage("[flags]")
    .allowExcessArguments(false)
    .version(version, "--version", "print the version")
    .helpOption("-h, --help", "print this help");
  const rules = [...ruleOptions(), ...referenceOptions()];
  for (const option of [...servingOptions(), ...certificateOptions(), ...rules, ...logOptions()]) {
    command.addOption(option);
  }
  return command;
}

function servingOptions(): readonly Option[] {
  return [
    new Option(
      "--kubeconfig <file>",
      "kubeconfig of the hub (default: KUBECONFIG, the pod's service account, ~/.kube/config)",
    ),
    new Option("--address <address>", "where admission reviews are answered, [host]:port")
      .argParser(listenOf)
      .default({ port: 9443 }, ":9443"),
    new Option(
      "--health-address <address>",
      "where /healthz, /readyz and /metrics are served, [host]:port; 0 for nowhere",
    )
      .argParser(addressOf)
      .default({ port: 8081 }, ":8081"),
    new Option("--tls-min-version <version>", "oldest TLS that is spoken")
      .choices(Object.keys(tlsVersions))
      .default("1.3"),
    new Option(
      "--client-ca-file <file>",
      "authorities of the API servers' client certificates, PEM; without it whoever comes is answered",
    ),
    new Option(
      "--client-name <name>",
      "with --client-ca-file: common name of an API server's certificate; can be given several times",
    )
      .argParser(withText)
      .default([], "any"),
    new Option(
      "--drain-period <duration>",
      "how long reviews are still answered after SIGTERM, until nobody asks any more",
    )
      .argParser(durationOf)
      .default(10_000, "10s"),
  ];
}

function certificateOptions(): readonly Option[] {
  return [
    new Option("--certificates <mode>", "who makes the serving certificate")
      .choices(certificateModes)
      .default("self-managed"),
    new Option(
      "--certificate-dir <dir>",
      "with --certificates=files: folder of tls.crt and tls.key",
    ).default("/etc/knfleet/certificates"),
    new Option(
      "--namespace <name>",
      "namespace of Service, Secret and provider files (default: the pod's, else knfleet-system)",
    ),
    new Option("--service-name <name>", "Service by which API servers come").default(
      "knfleet-webhook",
    ),
    new Option("--secret-name <name>", "Secret that holds the certificates").default(
      "knfleet-webhook-certificates",
    ),
    new Option(
      "--webhook-configuration <name>",
      "ValidatingWebhookConfiguration whose caBundle is filled in; can be given several times",
    )
      .argParser(withName())
      .default(["knfleet-webhook"], "knfleet-webhook"),
    new Option("--certificate-lifetime <duration>", "life of a serving certificate")
      .argParser(lifetimeOf)
      .default(168 * 3_600_000, "168h"),
    new Option("--authority-lifetime <duration>", "life of a certificate authority")
      .argParser(lifetimeOf)
      .default(2_160 * 3_600_000, "2160h"),
  ];
}

function ruleOptions(): readonly Option[] {
  return [
    new Option("--companion-of <operator>", "the operator that reconciles the components")
      .choices(operators)
      .default("knfleet"),
    spokeNamespaceOption(),
    new Option(
      "--release-dir <dir>",
      "Knative release files, to know what the controller would refuse; empty for none (default: as for the controller)",
    ),
    new Option(
      "--manifest-source <url>",
      "https prefix from which components may take manifests, as the controller has it; can be given several times",
    )
      .argParser(withSource)
      .default([], "none"),
    new Option(
      "--check-source <url>",
      "https prefix of the servers that checks of rollouts may ask, as the controller has it; can be given several times",
    )
      .argParser(withSource)
      .default([], "none"),
    new Option(
      "--plugin-root <dir>",
      "folder of exec plugins, when they are mounted here too; can be given several times",
    )
      .argParser(withFolder)
      .default([], "none"),
    new Option(
      "--provider-file <name>",
      "ConfigMap that is a provider file although it has no label",
    ),
    new Option(
      "--manifest-right [bool]",
      "manifests, images and whatever reaches beyond Knative's settings need the verb apply-cluster-scoped",
    )
      .argParser(switchOf)
      .default(false),
    new Option(
      "--controller-user <user>",
      "guard anchors of this hub; the user as which its controller comes",
    ),
    new Option(
      "--guard <hub=user>",
      "guard anchors of another hub, named by the UID of its kube-system namespace; can be given several times, for further users of one hub, too",
    )
      .argParser(withOwner)
      .default([], "none"),
    new Option(
      "--guard-only [bool]",
      "guard anchors and do nothing else: on a cluster without components",
    )
      .argParser(switchOf)
      .default(false),
  ];
}

function listenOf(text: string): ListenAddress {
  const address = addressOf(text);
  if (address !== "nowhere") return address;
  throw new InvalidArgumentError("Want [host]:port.");
}

function lifetimeOf(text: string): number {
  const ms = durationOf(text);
  if (ms >= minLifetimeMs) return ms;
  throw new InvalidArgumentError("Want a duration of 15s or more.");
}

/** Collects the given names, which replace the default. */
function withName(): (name: string) => readonly string[] {
  const names: string[] = [];
  return (name) => {
    if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name)) {
      throw new InvalidArgumentError("Want the name of an object.");
    }
    names.push(name);
    return [...names];
  };
}

function withOwner(text: string, before: readonly GuardOwner[]): readonly GuardOwner[] {
  const [, hubId, user] = /^([0-9a-f-]{36})=(\S+)$/.exec(text) ?? [];
  if (hubId !== undefined && user !== undefined) return [...before, { hubId, hubUsers: [user] }];
  throw new InvalidArgumentError("Want the UID of a kube-system namespace, =, and a user.");
}
