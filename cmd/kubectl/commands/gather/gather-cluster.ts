import { isKubeObject } from "../../../../access/kube/api-answer.ts";
import { ApiError, ConnectionError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { componentKinds } from "../../../../api/component.ts";
import { isRecord } from "../../../../api/fields.ts";
import {
  anchorLabels,
  componentUidLabel,
  guardLabels,
  managedByValue,
} from "../../../../installation/anchor.ts";
import type { RecordedTable } from "../../bundle/bundle.ts";
import { flavourOf } from "../../hub/find-controller.ts";
import { stringAt } from "../../selection/fields.ts";
import { readKubernetesVersion } from "../../spokes/kubernetes-version.ts";
import {
  type ListOptions,
  listTable,
  type ObjectRow,
  type ObjectTable,
  type ServedKind,
  servedKinds,
} from "../../spokes/object-table.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import { setLists, type SetPlan } from "./gathered-sets.ts";

/** What to gather of one cluster. */
export interface ClusterPlan {
  readonly namespaces: readonly string[];
  /** Whether an object of a kind that only the hub has is wanted; absent: none is. */
  readonly wantsHubObject?: (object: ObjectRow["object"]) => boolean;
  /** ManagedClusters that works bring installations to; absent: none. */
  readonly pulled?: readonly string[];
  /** What is wanted of fleet sets; absent: nothing. */
  readonly sets?: SetPlan;
  /** Whether every object with the mark of an installation is wanted, in all namespaces. */
  readonly traces: boolean;
}

/** What was read of one cluster. */
export interface ClusterFacts {
  readonly server: string;
  readonly kubernetesVersion: string | null;
  readonly tables: readonly RecordedTable[];
}

const requestsAtOnce = 4;

/** Reads the gathered kinds of one cluster, a few requests at a time. Throws what KubeClient throws when the cluster cannot be read at all. */
export async function gatherCluster(
  client: KubeClient,
  plan: ClusterPlan,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const [version, served] = await Promise.all([
    readKubernetesVersion(client, signal).catch(ifRefused),
    servedKinds(client, signal),
  ]);
  const wanted = served.flatMap((kind) => wantedKinds(kind, plan));
  const tables = await mapLimited(wanted, requestsAtOnce, ({ kind, lists, isWanted }) =>
    readTable(client, { kind, lists, isWanted }, signal),
  );
  return { server: client.server, kubernetesVersion: version ?? null, tables };
}

function ifRefused(error: unknown): undefined {
  if (error instanceof ApiError && error.status !== 401) return;
  throw error;
}

interface WantedKind {
  readonly kind: ServedKind;
  readonly lists: readonly Omit<ListOptions, "fieldSelector">[];
  readonly isWanted: (object: ObjectRow["object"]) => boolean;
}

const labels = Object.values(componentKinds).map(({ label }) => label);

/** Label selectors of objects that belong to installations, in any namespace. */
const everywhere: Readonly<Record<string, string>> = {
  "apps/deployments": `app.kubernetes.io/name in (${labels.join(",")})`,
  "/configmaps": `${anchorLabels.managedBy}=${managedByValue},${anchorLabels.componentName}`,
};

function wantedKinds(
  kind: ServedKind,
  { namespaces, wantsHubObject, pulled = [], sets, traces }: ClusterPlan,
): readonly WantedKind[] {
  const ofSets = sets === undefined ? undefined : setLists(kind, sets);
  if (ofSets !== undefined) return ofSets.lists.length === 0 ? [] : [{ kind, ...ofSets }];
  const id = `${kind.group}/${kind.plural}`;
  const all = { namespace: undefined, labelSelector: undefined };
  if (includes(gatheredKinds.hub, id)) {
    return wantsHubObject === undefined ? [] : [{ kind, lists: [all], isWanted: wantsHubObject }];
  }
  if (includes(gatheredKinds.pulled, id)) return pulledLists(kind, pulled);
  if (includes(gatheredKinds.clusterWide, id)) {
    const isWanted = (object: ObjectRow["object"]): boolean =>
      isKnative(object, namespaces) || (traces && isTrace(object));
    return [{ kind, lists: [all], isWanted }];
  }
  if (includes(gatheredKinds.marked, id)) return markedLists(kind, { wantsHubObject, traces });
  if (!includes(gatheredKinds.namespaced, id)) return [];
  return [
    { kind, lists: namespacedLists(id, { namespaces, pulled, traces }), isWanted: () => true },
  ];
}

const byMark = [{ namespace: undefined, labelSelector: componentUidLabel }];

/** The marked objects. On the hub also the bindings by which controllers are known, in a bundle as there. */
function markedLists(
  kind: ServedKind,
  { wantsHubObject, traces }: Pick<ClusterPlan, "wantsHubObject" | "traces">,
): readonly WantedKind[] {
  if (kind.plural !== "clusterrolebindings" || wantsHubObject === undefined) {
    return traces ? [{ kind, lists: byMark, isWanted: () => true }] : [];
  }
  const isWanted = (object: ObjectRow["object"]): boolean =>
    (isKubeObject(object) && flavourOf(object) !== undefined) || (traces && isTrace(object));
  const all = { namespace: undefined, labelSelector: undefined };
  return [{ kind, lists: [all], isWanted }];
}

function namespacedLists(
  id: string,
  { namespaces, pulled, traces }: Required<Pick<ClusterPlan, "namespaces" | "pulled" | "traces">>,
): WantedKind["lists"] {
  const labelSelector = everywhere[id];
  const byLabel = labelSelector === undefined ? [] : [{ namespace: undefined, labelSelector }];
  // How fresh feedback is, a Lease tells.
  const others = id === "coordination.k8s.io/leases" ? pulled : [];
  const places = [...namespaces, ...others].map((namespace) => ({
    namespace,
    labelSelector: undefined,
  }));
  return [...(traces ? byMark : []), ...byLabel, ...places];
}

/** Our works for the clusters that pull, and these clusters themselves. */
function pulledLists(kind: ServedKind, pulled: readonly string[]): readonly WantedKind[] {
  if (pulled.length === 0) return [];
  const labelSelector = `${anchorLabels.managedBy}=knfleet`;
  const all = [{ namespace: undefined, labelSelector: undefined }];
  const lists = kind.namespaced ? pulled.map((namespace) => ({ namespace, labelSelector })) : all;
  const isWanted = (object: ObjectRow["object"]): boolean =>
    kind.namespaced || pulled.includes(stringAt(object, "metadata", "name") ?? "");
  return [{ kind, lists, isWanted }];
}

function includes(list: readonly string[], id: string): boolean {
  return list.includes(id);
}

function isKnative(object: ObjectRow["object"], namespaces: readonly string[]): boolean {
  const name = stringAt(object, "metadata", "name") ?? "";
  return namespaces.includes(name) || /knative|knfleet/.test(name);
}

/** An object with a label of knfleet, or the namespace `kube-system`, whose uid identifies a cluster. */
function isTrace(object: ObjectRow["object"]): boolean {
  const { metadata } = object;
  const own = isRecord(metadata) ? metadata["labels"] : undefined;
  const isMarked = [componentUidLabel, guardLabels.namespace].some(
    (label) => isRecord(own) && label in own,
  );
  return isMarked || stringAt(metadata, "name") === "kube-system";
}

/** What is recorded of a list that failed. Throws an error after which the cluster cannot be read any further. */
function refusalOf(error: unknown): Pick<RecordedTable["unread"][number], "status" | "message"> {
  if (error instanceof ConnectionError) return { status: 504, message: error.message };
  if (!(error instanceof ApiError) || error.status === 401) throw error;
  return { status: error.status, message: error.message };
}

const gathering = { fieldSelector: undefined, keepScalers: true } as const;

async function readTable(
  client: KubeClient,
  { kind, lists, isWanted }: WantedKind,
  signal: AbortSignal,
): Promise<RecordedTable> {
  const found: ObjectTable[] = [];
  const unread: RecordedTable["unread"][number][] = [];
  for (const list of lists) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- other kinds are read at the same time
      found.push(await listTable(client, { kind, ...list, ...gathering }, signal));
    } catch (error) {
      signal.throwIfAborted();
      unread.push({ namespace: list.namespace ?? null, ...refusalOf(error) });
    }
  }
  const rows = found.flatMap((table) => table.rows).filter(({ object }) => isWanted(object));
  const byId = new Map(rows.map((row) => [stringAt(row.object, "metadata", "uid"), row]));
  return { kind, columns: found[0]?.columns ?? [], rows: [...byId.values()], unread };
}

/** Kinds that are gathered, by group and plural; no others. Of Secrets the bundle has names of keys, sizes and salted hashes only. */
const gatheredKinds = {
  /** On the hub alone: the selected installations and their ClusterProfiles. */
  hub: [
    "operator.knative.dev/knativeservings",
    "operator.knative.dev/knativeeventings",
    "multicluster.x-k8s.io/clusterprofiles",
  ],
  /** On the hub, for installations that clusters pull. */
  pulled: [
    "work.open-cluster-management.io/manifestworks",
    "cluster.open-cluster-management.io/managedclusters",
  ],
  /** In the namespaces of the installations; on the hub also in those of ClusterProfiles and controllers. */
  namespaced: [
    "/configmaps",
    "/events",
    "/pods",
    "/secrets",
    "/serviceaccounts",
    "/services",
    "apps/deployments",
    "apps/replicasets",
    "apps/statefulsets",
    "autoscaling/horizontalpodautoscalers",
    "batch/jobs",
    "coordination.k8s.io/leases",
    "policy/poddisruptionbudgets",
    "rbac.authorization.k8s.io/rolebindings",
    "rbac.authorization.k8s.io/roles",
  ],
  /** Of a whole fleet: objects with the mark of an installation, in all namespaces; on the hub also the ClusterRoleBindings of controllers. */
  marked: [
    "apps/daemonsets",
    "rbac.authorization.k8s.io/clusterrolebindings",
    "rbac.authorization.k8s.io/clusterroles",
  ],
  /** Objects whose name has `knative` or `knfleet`; of a whole fleet also marked and guarded ones, and `kube-system`. */
  clusterWide: [
    "/namespaces",
    "admissionregistration.k8s.io/mutatingwebhookconfigurations",
    "admissionregistration.k8s.io/validatingwebhookconfigurations",
  ],
} as const;
