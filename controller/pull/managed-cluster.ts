import { ApiError, ifServed } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { ServedKind } from "../../access/kube/profile-versions.ts";
import { distrustedProfile } from "../../access/providers/reference-policy.ts";
import type { WantedSpoke } from "../../access/spokes/spokes.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
  isClusterProfile,
  leavingMessage,
} from "../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import { clusterSetApiVersion, managedClusterLabel, ocmManager } from "../../api/delivery.ts";
import { FleetError } from "../../api/errors.ts";
import { listAt, recordAt, textAt, textsOf } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { describe, type KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { type LabelSelector, matchesLabels } from "../../sets/select-clusters.ts";
import type { ReconcileDeps } from "../reconcile/reconcile-deps.ts";
import { managedClusterRef } from "./find-works.ts";
import { getFrom, orRefusal } from "./hub-works.ts";
import type { PullSettings } from "./pull-deps.ts";

export interface ManagedClusterDeps extends Pick<ReconcileDeps, "hub" | "references"> {
  /** Absent: no cluster may pull. */
  readonly pull?: Pick<PullSettings, "namespaces">;
}

/**
 * The ManagedCluster in whose namespace works may be written for a ClusterProfile. Its label alone proves nothing: whoever may write ClusterProfiles writes it, and whoever writes works is
 * administrator of the cluster. So the profile has to be of Open Cluster Management, its namespace has to be in `--pull-namespace`, and it has the name of the ManagedCluster, or a
 * ManagedClusterSetBinding of its namespace holds a set with the ManagedCluster. Spec: pull.md, "Who may send works to a cluster".
 *
 * Throws FleetError `ClusterProfileNotFound`, `ClusterProfileNotReady` (it is being deleted, and this is no removal), `ClusterProfileUnavailable`, `ReferenceNotPermitted` (not trusted), or `AccessProviderFailed` with code `NotManagedByOCM`.
 */
export async function managedClusterFor(
  { isRemoval = false, ...ref }: WantedSpoke,
  deps: ManagedClusterDeps,
  signal: AbortSignal,
): Promise<string> {
  const { hub } = deps;
  const { namespace, name } = ref;
  const subject = describe({ kind: "ClusterProfile", ...ref });
  const profile = await readProfile(ref, hub, signal);
  if (profile === undefined) {
    throw new FleetError("ClusterProfileNotFound", `${subject} does not exist`);
  }
  const leaving = leavingMessage(profile);
  if (leaving !== undefined && !isRemoval) throw new FleetError("ClusterProfileNotReady", leaving);
  const cluster = claimedCluster(profile, subject, deps);
  if (cluster === name || (await isBound(cluster, { hub, namespace }, signal))) return cluster;
  const message = `${subject} is labelled as ManagedCluster ${cluster}, whose name it does not have, and no ManagedClusterSetBinding of its namespace holds a set with that cluster`;
  throw new FleetError("ReferenceNotPermitted", message);
}

/** The ManagedCluster that the label of a ClusterProfile names. Throws unless the profile is of Open Cluster Management and its clusters may pull. */
function claimedCluster(
  profile: ClusterProfile,
  subject: string,
  { references, pull }: Pick<ManagedClusterDeps, "references" | "pull">,
): string {
  const { namespace, labels = {} } = profile.metadata;
  const distrust =
    distrustedProfile(profile, references?.policy ?? {}) ?? unlisted(namespace, pull);
  if (distrust !== undefined) throw new FleetError("ReferenceNotPermitted", distrust);
  const cluster = labels[managedClusterLabel];
  if (cluster === undefined || cluster === "") {
    throw unmanaged(`${subject} has no label ${managedClusterLabel}`);
  }
  const manager = profile.spec?.clusterManager?.name ?? "";
  if (manager === ocmManager) return cluster;
  const name = JSON.stringify(foreignText(manager, longestName));
  throw unmanaged(`${subject} is of the cluster manager ${name}, and not of ${ocmManager}`);
}

const longestName = 253;

function unlisted(namespace: string, pull: ManagedClusterDeps["pull"]): string | undefined {
  if (pull?.namespaces.includes(namespace) === true) return undefined;
  return `Clusters of ClusterProfiles in namespace ${JSON.stringify(namespace)} may not pull (--pull-namespace)`;
}

function unmanaged(message: string): FleetError {
  return new FleetError("AccessProviderFailed", message, { code: "NotManagedByOCM" });
}

async function readProfile(
  { namespace, name }: ClusterProfileRef,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<ClusterProfile | undefined> {
  const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
  // The controller may list ClusterProfiles, and not get them.
  const ref = { resource, namespace, fieldSelector: `metadata.name=${name}` };
  try {
    const { items } = await new ServedKind(hub).list(ref, {}, signal);
    return items.find(isClusterProfile);
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    const message = "ClusterProfiles cannot be read on the hub";
    throw new FleetError("ClusterProfileUnavailable", message, { cause });
  }
}

/** Whether a namespace is bound to a set that a ManagedCluster is in: Open Cluster Management asks for the right `managedclustersets/bind` before it stores such a binding. */
async function isBound(
  cluster: string,
  { hub, namespace }: { readonly hub: KubeClient; readonly namespace: string },
  signal: AbortSignal,
): Promise<boolean> {
  const get = getFrom(hub, signal);
  const managed = await get(managedClusterRef(cluster));
  if (managed === undefined) return false;
  const resource = knownResource(clusterSetApiVersion, "ManagedClusterSetBinding");
  const sets = knownResource(clusterSetApiVersion, "ManagedClusterSet");
  const bindings = await orRefusal({ resource, namespace, name: "" }, () =>
    ifServed(hub.list({ resource, namespace }, {}, signal)),
  );
  for (const binding of bindings?.items ?? []) {
    const name = textAt(recordAt(binding, "spec"), "clusterSet");
    if (name === undefined) continue;
    const set = await get({ resource: sets, name });
    if (set !== undefined && isInSet(managed, set)) return true;
  }
  return false;
}

const setLabel = "cluster.open-cluster-management.io/clusterset";

/** Whether a ManagedClusterSet has a ManagedCluster, by its label or by the selector of the set. */
function isInSet({ metadata: { labels = {} } }: KubeObject, set: KubeObject): boolean {
  const { selectorType, labelSelector } = recordAt(set, "spec", "clusterSelector");
  if (selectorType === "LabelSelector") return matchesLabels(selectorOf(labelSelector), labels);
  return labels[setLabel] === set.metadata.name;
}

/** A selector as the API server stores it, which has checked it against the CRD. */
function selectorOf(selector: unknown): LabelSelector {
  const expressions = listAt(recordAt(selector), "matchExpressions").map((one) => recordAt(one));
  return {
    matchLabels: Object.fromEntries(textsOf(recordAt(selector)["matchLabels"])),
    matchExpressions: expressions.map((one) => ({
      key: textAt(one, "key") ?? "",
      operator: textAt(one, "operator") ?? "",
      values: listAt(one, "values").filter((value) => typeof value === "string"),
    })),
  };
}
