import type { Component } from "../../../../api/component.ts";
import { describe, type KubeObject, nameFirst } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { inventoryTextOf } from "../../../../installation/anchor-object.ts";
import { anchorAnnotations } from "../../../../installation/anchor.ts";
import { decodeInventory, type Inventory } from "../../../../installation/inventory.ts";
import { workloadName } from "../../../../installation/workload-facts.ts";
import { assertKubernetesVersion } from "../../../../render/release/version.ts";
import { kubectlOn, words } from "../../output/steps.ts";
import {
  anchorOf,
  conflictingAnchor,
  missingWorkloads,
  withProgress,
  workloadsOf,
} from "../../spokes/live-view.ts";
import { readSpokeFacts, type SpokeFacts } from "../../spokes/spoke-facts.ts";
import { type WorkloadFact, workloadId, type WorkloadKey } from "../../spokes/workload-fact.ts";
import type { SpokeSession } from "../spoke-session.ts";
import { type Drift, readDrift } from "./drift.ts";
import {
  failed,
  finding,
  type Finding,
  type HopResult,
  passed,
  passedWith,
  skipped,
} from "./hop.ts";

/** Checks the cluster's version of Kubernetes; `least` is KUBERNETES_MIN_VERSION of the controller. Throws FleetError for one that is too old. */
export function checkVersion(
  { gitVersion }: SpokeSession,
  least: string | undefined,
): HopResult<true> {
  if (gitVersion === undefined) return skipped("the version may not be read");
  assertKubernetesVersion(gitVersion, { KUBERNETES_MIN_VERSION: least });
  return passed(true, gitVersion);
}

/** Facts of the cluster, and the anchor of the installation. */
interface Installed {
  readonly facts: SpokeFacts;
  /** Undefined on the hub itself, and for an installation without an anchor. */
  readonly anchor: KubeObject | undefined;
}

/** Looks for the anchor of the component on its cluster. */
export async function findAnchor(
  component: Component,
  { client }: Pick<SpokeSession, "client">,
  signal: AbortSignal,
): Promise<HopResult<Installed>> {
  const facts = await readSpokeFacts(client, { provider: null }, signal);
  if (component.spec?.clusterProfileRef === undefined) {
    return passed({ facts, anchor: undefined }, "the component itself owns what is on the hub");
  }
  if (facts.anchors === undefined) {
    const message = "ConfigMaps of the spoke may not be listed";
    return failed("KNF5002", message);
  }
  const fact = anchorOf(component, facts);
  if (fact === undefined) return missingAnchor(component, facts);
  const { namespace, name } = fact;
  const ref = { resource: knownResource("v1", "ConfigMap"), namespace, name };
  const anchor = await client.get(ref, {}, signal);
  const text = `ConfigMap ${namespace}/${name}`;
  const findings = [
    ...(await checkNamespace(component, { namespace, client }, signal)),
    ...anchorFindings(anchor, text),
  ];
  return passedWith({ facts, anchor }, text, { findings });
}

function missingAnchor(component: Component, facts: SpokeFacts): HopResult<Installed> {
  const { deletionTimestamp, name, namespace } = component.metadata;
  const kubectl = kubectlOn(component.spec?.clusterProfileRef);
  if (deletionTimestamp !== undefined) {
    return passed({ facts, anchor: undefined }, "is gone, as the deletion wants");
  }
  const other = conflictingAnchor(component, facts);
  if (other !== undefined) {
    const text = `ConfigMap ${other.namespace}/${other.name} belongs to the component with uid ${other.componentUid ?? "(none)"}`;
    return failed("KNF6003", text, {
      next: [`${kubectl} ${words("describe", "configmap", other.name, "-n", other.namespace)}`],
    });
  }
  const wasInstalled = (component.status?.version ?? "") !== "";
  const left = workloadsOf(component, facts).length;
  const type = component.kind.toLowerCase();
  const see = words("kubectl", "get", type, name, "-n", namespace, "-o", "yaml");
  if (wasInstalled) {
    const message = `The hub says that ${component.status?.version ?? ""} is installed, and the spoke has no anchor of it`;
    return failed("KNF6002", message, { evidence: [`${left} Deployments are left`] });
  }
  return failed("KNF6004", "The spoke has no anchor of the component", { next: [see] });
}

function anchorFindings(anchor: KubeObject | undefined, text: string): readonly Finding[] {
  const deletedAt = anchor?.metadata.deletionTimestamp;
  if (deletedAt === undefined) return [];
  const message = `${text} is being deleted since ${deletedAt}`;
  return [finding("error", "KNF6002", { message })];
}

async function checkNamespace(
  component: Component,
  { namespace, client }: Pick<SpokeSession, "client"> & { readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const ref = { resource: knownResource("v1", "Namespace"), name: namespace };
  const object = await client.get(ref, {}, signal);
  if (object?.metadata.deletionTimestamp === undefined) return [];
  const message = `Namespace ${namespace} is being deleted since ${object.metadata.deletionTimestamp}`;
  const kubectl = kubectlOn(component.spec?.clusterProfileRef);
  const next = [`${kubectl} ${words("get", "namespace", namespace, "-o", "yaml")}`];
  return [finding("error", "KNF6011", { message, next })];
}

const mostEvidence = 10;

/** Compares the inventory in the anchor with the objects of the cluster. */
export async function checkObjects(
  component: Component,
  { anchor }: Installed,
  { client, signal }: Pick<SpokeSession, "client"> & { readonly signal: AbortSignal },
): Promise<HopResult<true>> {
  const inventory = anchor === undefined ? undefined : decodeInventory(inventoryTextOf(anchor));
  if (inventory === undefined) return passed(true, "there is no inventory to compare with");
  const { uid } = component.metadata;
  const drift = await readDrift(inventory.entries, { client, uid }, signal);
  const isOurs = anchor?.metadata.annotations?.[anchorAnnotations.componentUid] === uid;
  const findings = [
    ...missingFindings(drift),
    ...(isOurs ? changedFindings(drift) : []),
    ...completenessFindings(inventory),
  ];
  const unread = drift.unread === 0 ? "" : `, ${drift.unread} may not be read`;
  return passedWith(true, `${drift.checked} objects as they should be${unread}`, { findings });
}

function missingFindings({ missing }: Drift): readonly Finding[] {
  const [first] = missing;
  if (first === undefined) return [];
  const message = `${missing.length} objects of the inventory are missing: ${describe(first)}`;
  const evidence = missing.slice(0, mostEvidence).map(describe);
  return [finding("error", "KNF6006", { message, evidence })];
}

function changedFindings({ changed }: Drift): readonly Finding[] {
  const [first] = changed;
  if (first === undefined) return [];
  const by = first.managers.length === 0 ? "" : ` by ${first.managers.join(", ")}`;
  const message = `${changed.length} objects were changed: ${describe(first.key)}${by}`;
  const evidence = changed
    .slice(0, mostEvidence)
    .map(({ key, managers }) => `${describe(key)}: ${managers.join(", ")}`);
  return [finding("error", "KNF6007", { message, evidence })];
}

function completenessFindings({ complete, version }: Inventory): readonly Finding[] {
  if (complete) return [];
  const message = `The installation of ${version} was begun and is not finished`;
  return [finding("warning", "KNF6008", { message })];
}

/** Checks whether the workloads of the installation exist and are available. The value: those that are not available. */
export function checkDeployments(
  component: Component,
  { facts }: Installed,
): HopResult<readonly WorkloadKey[]> {
  const own = workloadsOf(component, facts);
  const missing = missingWorkloads(component, facts);
  if (own.length === 0 && missing.length === 0) {
    const none = "The cluster has no Deployment of the installation";
    return passedWith([], none, { findings: [finding("error", "KNF6009", { message: none })] });
  }
  const kubectl = kubectlOn(component.spec?.clusterProfileRef);
  const those = (state: WorkloadFact["state"]) => own.filter((one) => one.state === state);
  const [broken, rolling, scaled] = [
    those("notAvailable"),
    those("rollingOut"),
    those("scaledToZero"),
  ];
  const parts = [
    ["missing", missing.map(workloadId)],
    ["not available", broken.map(withProgress)],
    ["in progress", rolling.map(withProgress)],
    ["scaled to zero", scaled.map(workloadName)],
  ] as const;
  const message = parts
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what} ${nameFirst(names, mostNamed)}`)
    .join("; ");
  if (message === "") return passed([], `${own.length} available${unlistedText(facts)}`);
  const findings = [
    ...unavailableFindings({ broken, missing, message, kubectl }),
    ...scaledFindings(scaled, kubectl),
  ];
  return passedWith([...broken, ...rolling], message, { findings });
}

const mostNamed = 5;

function unlistedText({ unlisted }: SpokeFacts): string {
  return unlisted.map((kind) => `, ${kind}s may not be listed`).join("");
}

interface Unavailable {
  readonly broken: readonly WorkloadFact[];
  readonly missing: readonly WorkloadKey[];
  readonly message: string;
  readonly kubectl: string;
}

function unavailableFindings({
  broken,
  missing,
  message,
  kubectl,
}: Unavailable): readonly Finding[] {
  if (broken.length + missing.length === 0) return [];
  const next = [...broken, ...missing]
    .slice(0, 3)
    .map(
      ({ kind, namespace, name }) =>
        `${kubectl} ${words("describe", kind.toLowerCase(), name, "-n", namespace)}`,
    );
  const evidence = broken
    .flatMap((one) => (one.message === null ? [] : [`${workloadName(one)}: ${one.message}`]))
    .slice(0, mostEvidence);
  return [finding("error", "KNF6009", { message, evidence, next })];
}

/** What somebody scaled to zero, and the command that scales it up. */
function scaledFindings(scaled: readonly WorkloadFact[], kubectl: string): readonly Finding[] {
  const [first] = scaled;
  if (first === undefined) return [];
  const names = scaled.map(workloadName);
  const message = `Scaled to zero: ${nameFirst(names, mostNamed)}`;
  const evidence = scaled.slice(0, mostEvidence).flatMap((one) => {
    const { scaler } = one;
    if (scaler === null) return [];
    return [
      `${workloadName(one)}: by ${scaler.manager}${scaler.time === null ? "" : ` at ${scaler.time}`}`,
    ];
  });
  const next = [...Map.groupBy(scaled, ({ namespace }) => namespace)].map(([namespace, all]) => {
    const isSame = all.every(({ kind }) => kind === "Deployment");
    const scale = isSame
      ? ["deployment", ...all.map(({ name }) => name)]
      : all.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`);
    return `${kubectl} ${words("scale", ...scale, "-n", namespace, "--replicas=1")}`;
  });
  return [finding("warning", "KNF6015", { message, evidence, next })];
}
