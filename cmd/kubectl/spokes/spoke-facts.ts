import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { componentKinds } from "../../../api/component.ts";
import { pulledAnnotations } from "../../../api/delivery.ts";
import { byText } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { inventoryTextOf } from "../../../installation/anchor-object.ts";
import { anchorAnnotations, anchorLabels, managedByValue } from "../../../installation/anchor.ts";
import { decodeInventory } from "../../../installation/inventory.ts";
import { isWorkload } from "../../../installation/readiness.ts";
import {
  isWorkloadKind,
  type WorkloadKind,
  workloadKinds,
} from "../../../installation/workload-facts.ts";
import type { LiveReason } from "../output/own-reasons.ts";
import { readKubernetesVersion } from "./kubernetes-version.ts";
import { ifDenied, type Reading, type UnreadSpoke } from "./spoke-reading.ts";
import {
  type WorkloadFact,
  workloadFactOf,
  workloadId,
  type WorkloadKey,
} from "./workload-fact.ts";

/** Facts about the Knative installations on one cluster. */
export interface SpokeFacts {
  readonly server: string;
  /** Name of the access provider. Null for the hub itself. */
  readonly provider: string | null;
  readonly kubernetesVersion: string | null;
  /** Workloads labelled as Knative Serving or Eventing, of all namespaces. */
  readonly workloads: readonly WorkloadFact[];
  /** Kinds of workloads that may not be listed. Nothing is known of them. */
  readonly unlisted: readonly WorkloadKind[];
  /** Anchors of all namespaces. Undefined without the right to list ConfigMaps. */
  readonly anchors: readonly AnchorFact[] | undefined;
}

/** The outcome of reading the facts of one cluster. `told`: for pulled components whose cluster cannot be dialled, by their uid. */
export type SpokeReading =
  | Exclude<Reading<SpokeFacts>, UnreadSpoke>
  | (UnreadSpoke & { readonly told?: ReadonlyMap<string, ToldView> });

/** The state of a pulled component as works of Open Cluster Management tell it to the hub. */
export interface ToldView {
  readonly state:
    | "Ready"
    | "ScaledToZero"
    | "InProgress"
    | "NotAvailable"
    | "NotInstalled"
    | UnreadSpoke["state"];
  readonly reason: LiveReason | null;
  readonly message: string | null;
  readonly feedback: FeedbackFact;
}

/** Where feedback comes from. */
export interface FeedbackFact {
  /** Name of the ManagedCluster. */
  readonly cluster: string;
  /** When its agent last reported to the hub, RFC 3339; null: not known. Feedback is not older than that. */
  readonly heardAt: string | null;
}

const componentLabels = Object.values(componentKinds).map(({ label }) => label);

/**
 * Reads the facts of a cluster in three parallel requests, and one more for each kind of workloads beside Deployments that an installation has. `now`: the
 * clock's time unless named. Throws the errors of KubeClient.
 */
export async function readSpokeFacts(
  client: KubeClient,
  { provider, now = systemClock.date() }: FactsOptions,
  signal: AbortSignal,
): Promise<SpokeFacts> {
  // Only the Deployments are required: a credential without the right to the rest still gives an answer.
  const [version, deployments, anchors] = await Promise.all([
    readKubernetesVersion(client, signal).catch(ifDenied),
    listWorkloads("Deployment", client, signal),
    client
      .list(
        {
          resource: knownResource("v1", "ConfigMap"),
          labelSelector: `${anchorLabels.managedBy}=${managedByValue},${anchorLabels.componentName}`,
        },
        {},
        signal,
      )
      .catch(ifDenied),
  ]);
  const installed = anchors?.items.map(anchorFactOf);
  const found = deployments.map((object) => workloadFactOf(object, now));
  const others = await Promise.all(
    otherKinds(found, installed).map(async (kind) => {
      const objects = await listWorkloads(kind, client, signal).catch(ifUnlisted);
      return { kind, facts: objects?.map((object) => workloadFactOf(object, now)) };
    }),
  );
  return {
    server: client.server,
    provider,
    kubernetesVersion: version ?? null,
    workloads: [...found, ...others.flatMap(({ facts = [] }) => facts)],
    unlisted: others.filter(({ facts }) => facts === undefined).map(({ kind }) => kind),
    anchors: installed,
  };
}

interface FactsOptions {
  /** Name of the access provider. Null for the hub itself. */
  readonly provider: string | null;
  readonly now?: Date | undefined;
}

async function listWorkloads(
  kind: WorkloadKind,
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const resource = knownResource("apps/v1", kind);
  const labelSelector = `app.kubernetes.io/name in (${componentLabels.join(",")})`;
  return (await client.list({ resource, labelSelector }, {}, signal)).items;
}

/**
 * The kinds beside Deployments to be read: those of the inventories. An installation of the upstream operator has none; its releases have StatefulSets for
 * Eventing.
 */
function otherKinds(
  found: readonly WorkloadFact[],
  anchors: readonly AnchorFact[] | undefined,
): readonly WorkloadKind[] {
  const listed = (anchors ?? []).flatMap(({ workloads }) => workloads);
  const ids = new Set(listed.map(workloadId));
  const { label } = componentKinds.KnativeEventing;
  const isUnlisted = (fact: WorkloadFact) => fact.component === label && !ids.has(workloadId(fact));
  const kinds = new Set(listed.map(({ kind }) => kind));
  if (found.some(isUnlisted)) kinds.add("StatefulSet");
  return workloadKinds.filter((kind) => kind !== "Deployment" && kinds.has(kind));
}

/** For `catch`: returns undefined when a right is missing, or a bundle does not have the kind. Throws every other error again. */
function ifUnlisted(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 404) return;
  ifDenied(error);
}

/** Facts about the anchor of an installation. */
export interface AnchorFact {
  readonly namespace: string;
  readonly name: string;
  /** Uid of its component on the hub. Null for an anchor of the upstream operator. */
  readonly componentUid: string | null;
  /** Value of our label on its objects: the uid of the component that the controller works for, which is on the spoke when that pulls. */
  readonly labelUid: string | null;
  /** The workloads in its inventory. Empty without an inventory. */
  readonly workloads: readonly WorkloadKey[];
}

/** The facts of an anchor as an API server returned it. */
export function anchorFactOf(object: KubeObject): AnchorFact {
  const { namespace = "", name, annotations = {} } = object.metadata;
  const entries = decodeInventory(inventoryTextOf(object))?.entries ?? [];
  const labelUid = annotations[anchorAnnotations.componentUid] ?? null;
  return {
    namespace,
    name,
    componentUid: annotations[pulledAnnotations.hubComponentUid] ?? labelUid,
    labelUid,
    workloads: entries
      .filter(isWorkload)
      .flatMap(({ kind, namespace: place = "", name: own }) =>
        isWorkloadKind(kind) ? [{ kind, namespace: place, name: own }] : [],
      )
      .toSorted(byText(workloadId)),
  };
}
