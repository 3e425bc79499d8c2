import { Command, InvalidArgumentError, Option } from "commander";

import type { AllowedSource } from "../../access/urls/allowed-source.ts";
import { parseLabelSelector } from "../../api/label-selector.ts";
import {
  type DiscoverySettings,
  type Producer,
  producers,
} from "../../controller/discovery/source.ts";
import { type AnchorProtection, anchorProtections } from "../../controller/guard/protection.ts";
import type { ListenAddress } from "../../controller/health.ts";
import { type DeliveryMode, deliveryModes } from "../../controller/pull/pull-deps.ts";
import type { SpokeNamespaceMode } from "../../installation/installation-namespace.ts";
import { keyProblem } from "../../webhook/rules/names.ts";
import {
  addressOf,
  aFolder,
  durationOf,
  logOptions,
  parseArguments,
  referenceOptions,
  spokeNamespaceOption,
  switchOf,
  type logFormats,
  type logLevels,
  type ReferenceFlags,
  type Refusal,
  withFolder,
  withSource,
  withText,
} from "./flag-values.ts";
import { leaseOptions, type LeaseFlags } from "./lease-times.ts";

/** The parsed flags of `knfleet-controller`. */
export interface ControllerFlags extends ReferenceFlags, LeaseFlags {
  readonly kubeconfig: string | undefined;
  /** Undefined: `findReleases` finds one. */
  readonly releaseDir: string | undefined;
  readonly pluginRoot: readonly string[];
  readonly pluginHomeDir: string | undefined;
  readonly manifestSource: readonly AllowedSource[];
  readonly checkSource: readonly AllowedSource[];
  readonly clusterprofileProviderFile: string | undefined;
  /** The value of the command line; see `pollIntervalOf`. */
  readonly remoteDeploymentsPollInterval: number;
  readonly auditInterval: number;
  readonly concurrency: number;
  readonly spokeNamespace: SpokeNamespaceMode;
  readonly anchorProtection: AnchorProtection;
  readonly anchorProtectionCrds: boolean;
  readonly sets: boolean;
  readonly maxSetsPerNamespace: number;
  readonly delivery: DeliveryMode;
  readonly agentImage: string | undefined;
  readonly pullNamespace: readonly string[];
  readonly installCrds: boolean;
  readonly discover: readonly Producer[];
  readonly discoverNamespace: string | undefined;
  readonly discoverSourceNamespace: readonly string[];
  readonly discoverSelector: string | undefined;
  readonly discoverKubeconfigLabel: string;
  readonly discoverKubeconfigKey: string;
  readonly shards: number;
  readonly leaderElection: boolean;
  readonly disableHa: boolean;
  readonly leaderElectionNamespace: string | undefined;
  readonly healthAddress: ListenAddress | "nowhere";
  readonly logLevel: (typeof logLevels)[number];
  readonly logFormat: (typeof logFormats)[number];
}

/** Each shard has a Lease, which is written every 2 s by default. */
const mostShards = 100;

const description = `Reconciles KnativeServing and KnativeEventing onto the clusters that their clusterProfileRef names, or onto the hub itself.

Runs on the hub, with a kubeconfig or as a pod. docs/flags.md says more about each flag.`;

/** Parses the flags. Returns a Refusal with the text to print instead of starting. `args`: those after the program's name. */
export function readControllerFlags(
  args: readonly string[],
  version: string,
): ControllerFlags | Refusal {
  const command = controllerCommand(version);
  return parseArguments(command, args) ?? command.opts<ControllerFlags>();
}

/** The command of commander. A test compares docs/flags.md with its options. */
export function controllerCommand(version: string): Command {
  const command = new Command("knfleet-controller")
    .description(description)
    .usage("[flags]")
    .allowExcessArguments(false)
    .version(version, "--version", "print the version")
    .helpOption("-h, --help", "print this help");
  const access = [...clusterOptions(), ...referenceOptions()];
  const work = [...workOptions(), ...discoveryOptions(), ...replicaOptions()];
  for (const option of [...access, ...work, ...processOptions()]) command.addOption(option);
  return command;
}

function clusterOptions(): readonly Option[] {
  return [
    new Option(
      "--kubeconfig <file>",
      "kubeconfig of the hub (default: KUBECONFIG, the pod's service account, ~/.kube/config)",
    ),
    new Option(
      "--clusterprofile-provider-file <file>",
      "access providers for ClusterProfiles, JSON; without it only the hub itself is served",
    ),
    new Option(
      "--plugin-root <dir>",
      "folder that exec plugins have to be in; can be given several times",
    )
      .argParser(withFolder)
      .default([], "anywhere"),
    new Option(
      "--plugin-home-dir <dir>",
      "folder for the HOME folders of exec plugins (default: the temporary folder)",
    ).argParser(aFolder),
    new Option(
      "--release-dir <dir>",
      "Knative release files (default: KNFLEET_RELEASE_DIR, /var/lib/knfleet/releases, those of the cache)",
    ),
    new Option(
      "--manifest-source <url>",
      "https prefix from which components may take manifests; can be given several times",
    )
      .argParser(withSource)
      .default([], "none"),
    new Option(
      "--check-source <url>",
      "https prefix of the servers that checks of rollouts may ask; can be given several times",
    )
      .argParser(withSource)
      .default([], "none"),
  ];
}

function workOptions(): readonly Option[] {
  return [
    new Option(
      "--remote-deployments-poll-interval <duration>",
      "how long after its last change a component that is not ready is looked at again, then ever more rarely; less than 1s means 10s",
    )
      .argParser(durationOf)
      .default(10_000, "10s"),
    new Option(
      "--audit-interval <duration>",
      "pace at which every object is sent again that seems to be right; 0 for never",
    )
      .argParser(durationOf)
      .default(21_600_000, "6h"),
    new Option("--concurrency <number>", "components worked on at the same time")
      .argParser(numberUpTo(9_999))
      .default(16),
    spokeNamespaceOption(),
    new Option(
      "--anchor-protection <how>",
      "how the anchors on spokes are protected against deletion",
    )
      .choices(anchorProtections)
      .default("Auto"),
    new Option(
      "--anchor-protection-crds [bool]",
      "protect Knative's CRDs on spokes, too, where policies protect anchors",
    )
      .argParser(switchOf)
      .default(false),
    ...setOptions(),
    new Option("--install-crds [bool]", "install the CRDs of the components at the start")
      .argParser(switchOf)
      .default(false),
    new Option(
      "--delivery <how>",
      "Auto: clusters of Open Cluster Management that cannot be dialled pull their components; Push: only those with the annotation",
    )
      .choices(deliveryModes)
      .default("Push"),
    new Option("--agent-image <image>", "image of the controller on clusters that pull"),
    new Option(
      "--pull-namespace <name>",
      "namespace where Open Cluster Management alone writes ClusterProfiles, whose clusters may pull; can be given several times",
    )
      .argParser(withText)
      .default([], "none"),
  ];
}

function setOptions(): readonly Option[] {
  return [
    new Option("--sets [bool]", "roll KnativeServingSets and KnativeEventingSets out")
      .argParser(switchOf)
      .default(false),
    new Option(
      "--max-sets-per-namespace <number>",
      "sets of a namespace that are rolled out; the oldest ones are",
    )
      .argParser(numberUpTo(9_999))
      .default(100),
  ];
}

function discoveryOptions(): readonly Option[] {
  return [
    new Option(
      "--discover <producers>",
      `what to write ClusterProfiles from, with commas: ${producers.join(", ")}`,
    )
      .argParser(producersOf)
      .default([], "nothing"),
    new Option(
      "--discover-namespace <name>",
      "namespace of these ClusterProfiles (default: that of their source)",
    ),
    new Option(
      "--discover-source-namespace <name>",
      "namespace whose Secrets and Clusters are read; can be given several times",
    )
      .argParser(withText)
      .default([], "all"),
    new Option(
      "--discover-selector <selector>",
      "labels of these Secrets and Clusters (default: any)",
    ).argParser(selectorOf),
    new Option(
      "--discover-kubeconfig-label <label>",
      "label that has the value true on a Secret with a kubeconfig",
    )
      .argParser(labelKeyOf)
      .default("sigs.k8s.io/multicluster-runtime-kubeconfig"),
    new Option("--discover-kubeconfig-key <key>", "key of the kubeconfig in such a Secret").default(
      "kubeconfig",
    ),
  ];
}

function replicaOptions(): readonly Option[] {
  return [
    new Option(
      "--shards <number>",
      "parts of the fleet that the replicas share among each other; 1: one replica works",
    )
      .argParser(numberUpTo(mostShards))
      .default(1),
    new Option("--leader-election [bool]", "work only while holding the Lease knfleet-controller")
      .argParser(switchOf)
      .default(true),
    new Option("--disable-ha [bool]", "the same as --leader-election=false; upstream's name")
      .argParser(switchOf)
      .default(false),
    new Option(
      "--leader-election-namespace <name>",
      "namespace of the Lease (default: the pod's, else knfleet-system)",
    ),
    ...leaseOptions(),
  ];
}

function processOptions(): readonly Option[] {
  return [
    new Option(
      "--health-address <address>",
      "where /healthz, /readyz and /metrics are served, [host]:port; 0 for nowhere",
    )
      .argParser(addressOf)
      .default({ port: 8080 }, ":8080"),
    ...logOptions(),
  ];
}

/** The poll interval in ms. Less than a second means 10 s, as upstream does. Spec: knative-operator.md 6.2. */
export function pollIntervalOf(flagMs: number): number {
  return flagMs < 1_000 ? 10_000 : flagMs;
}

/** The settings of discovery. */
export function discoverySettings(flags: ControllerFlags): DiscoverySettings {
  return {
    producers: flags.discover,
    namespace: flags.discoverNamespace ?? "",
    sourceNamespaces: flags.discoverSourceNamespace,
    selector: flags.discoverSelector ?? "",
    kubeconfigLabel: flags.discoverKubeconfigLabel,
    kubeconfigKey: flags.discoverKubeconfigKey,
  };
}

function producersOf(text: string): readonly Producer[] {
  const names = text.split(",").map((name) => name.trim());
  const known = producers.filter((producer) => names.includes(producer));
  const isKnown = (name: string): boolean => name === "" || known.some((one) => one === name);
  if (names.every(isKnown)) return known;
  throw new InvalidArgumentError(`Want some of ${producers.join(", ")}, with commas.`);
}

/** Checks a label selector. An API server would refuse a wrong one at each list, and nothing would be discovered. */
function selectorOf(text: string): string {
  try {
    parseLabelSelector(text);
    return text;
  } catch {
    throw new InvalidArgumentError("Want a label selector such as env=prod,tier in (web,api).");
  }
}

function labelKeyOf(text: string): string {
  const problem = keyProblem(text);
  if (problem === undefined) return text;
  throw new InvalidArgumentError(`Want the key of a label: ${problem}.`);
}

/** Parses a whole number from 1 to `most`. */
function numberUpTo(most: number): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d*$/.test(text) && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`Want a number from 1 to ${most}.`);
  };
}
