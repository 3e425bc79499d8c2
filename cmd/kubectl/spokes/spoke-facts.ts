import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { componentKinds, withoutV } from "../../../api/component.ts";
import { pulledAnnotations } from "../../../api/delivery.ts";
import type { KubeObject, OwnerReference } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { inventoryTextOf } from "../../../installation/anchor-object.ts";
import {
  anchorAnnotations,
  anchorLabels,
  componentUidLabel,
  managedByValue,
} from "../../../installation/anchor.ts";
import { decodeInventory } from "../../../installation/inventory.ts";
import { conditionFieldsOf } from "../../../installation/pod-cause.ts";
import { type WorkloadState, workloadReadinessOf } from "../../../installation/readiness.ts";
import { type Scaler, scalerOf } from "../../../installation/scale.ts";
import type { LiveReason } from "../output/own-reasons.ts";
import { itemsAt, numberAt, stringAt } from "../selection/fields.ts";
import { readKubernetesVersion } from "./kubernetes-version.ts";
import { ifDenied, type Reading, type UnreadSpoke } from "./spoke-reading.ts";

/** Facts about the Knative installations on one cluster. */
export interface SpokeFacts {
  readonly server: string;
  /** Name of the access provider. Null for the hub itself. */
  readonly provider: string | null;
  readonly kubernetesVersion: string | null;
  /** Deployments labelled as Knative Serving or Eventing, of all namespaces. */
  readonly deployments: readonly DeploymentFact[];
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

/** Reads the facts of a cluster in three parallel requests. Throws the errors of KubeClient. */
export async function readSpokeFacts(
  client: KubeClient,
  provider: string | null,
  signal: AbortSignal,
): Promise<SpokeFacts> {
  // Only the Deployments are required: a credential without the right to the rest still gives an answer.
  const [version, deployments, anchors] = await Promise.all([
    readKubernetesVersion(client, signal).catch(ifDenied),
    client.list(
      {
        resource: knownResource("apps/v1", "Deployment"),
        labelSelector: `app.kubernetes.io/name in (${componentLabels.join(",")})`,
      },
      {},
      signal,
    ),
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
  return {
    server: client.server,
    provider,
    kubernetesVersion: version ?? null,
    deployments: deployments.items.map(deploymentFactOf),
    anchors: anchors?.items.map(anchorFactOf),
  };
}

/** Facts about one Deployment. Times are RFC 3339, or null when not known. */
export interface DeploymentFact {
  readonly namespace: string;
  readonly name: string;
  /** Value of `app.kubernetes.io/name`. */
  readonly component: string | null;
  readonly componentUid: string | null;
  readonly owners: readonly OwnerReference[];
  readonly desired: number;
  readonly ready: number;
  readonly upToDate: number;
  readonly availableReplicas: number;
  readonly state: WorkloadState;
  /** As the controller judges it: its latest change is rolled out and its pods are available. */
  readonly available: boolean;
  /** Why it is not available, such as `0 of 1 pods available`. Empty when it is. */
  readonly progress: string;
  /** Since when it is in its state. */
  readonly changedAt: string | null;
  /** Who scaled it to zero. Null: nobody, or not known. */
  readonly scaler: Scaler | null;
  /** Message of the condition Available. Foreign text. */
  readonly message: string | null;
  readonly createdAt: string | null;
  readonly images: readonly string[];
  /** Version of the label, or else the tag of the first image, without a leading `v`. Null without both. */
  readonly version: string | null;
}

/** The facts of a Deployment as an API server returned it. */
export function deploymentFactOf(object: KubeObject): DeploymentFact {
  const { namespace = "", name, labels = {}, ownerReferences, creationTimestamp } = object.metadata;
  const label = labels["app.kubernetes.io/version"];
  const images = itemsAt(object, "spec", "template", "spec", "containers").flatMap(
    (container) => stringAt(container, "image") ?? [],
  );
  return {
    namespace,
    name,
    component: labels["app.kubernetes.io/name"] ?? null,
    componentUid: labels[componentUidLabel] ?? null,
    owners: ownerReferences ?? [],
    ...replicasOf(object),
    ...availabilityOf(object),
    createdAt: creationTimestamp ?? null,
    images,
    version: label === undefined ? tagOf(images[0] ?? "") : withoutV(label),
  };
}

function replicasOf(
  object: KubeObject,
): Pick<DeploymentFact, "desired" | "ready" | "upToDate" | "availableReplicas"> {
  return {
    desired: numberAt(object, "spec", "replicas") ?? 1,
    ready: numberAt(object, "status", "readyReplicas") ?? 0,
    upToDate: numberAt(object, "status", "updatedReplicas") ?? 0,
    availableReplicas: numberAt(object, "status", "availableReplicas") ?? 0,
  };
}

function availabilityOf(
  object: KubeObject,
): Pick<DeploymentFact, "state" | "available" | "progress" | "changedAt" | "scaler" | "message"> {
  const { state, text } = workloadReadinessOf(object);
  const scaler = state === "scaledToZero" ? (scalerOf(object) ?? null) : null;
  const said = conditionFieldsOf(object, "Available");
  // Old pods may be available while a rollout fails.
  const isOfOld = state !== "available" && said?.["status"] === "True";
  const changed = isOfOld ? conditionFieldsOf(object, "Progressing") : said;
  return {
    state,
    available: state === "available",
    progress: text,
    changedAt: scaler?.time ?? stringAt(changed, "lastTransitionTime"),
    scaler,
    message: stringAt(changed, "message"),
  };
}

/** The tag of an image reference, without a leading `v`. Null without a tag, for example with a digest only. */
export function tagOf(image: string): string | null {
  const [name = ""] = image.split("@");
  const last = name.slice(name.lastIndexOf("/") + 1);
  const at = last.indexOf(":");
  return at < 0 ? null : withoutV(last.slice(at + 1));
}

/** Facts about the anchor of an installation. */
export interface AnchorFact {
  readonly namespace: string;
  readonly name: string;
  /** Uid of its component on the hub. Null for an anchor of the upstream operator. */
  readonly componentUid: string | null;
  /** Value of our label on its objects: the uid of the component that the controller works for, which is on the spoke when that pulls. */
  readonly labelUid: string | null;
  /** `namespace/name` of the Deployments in its inventory. Empty without an inventory. */
  readonly deployments: readonly string[];
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
    deployments: entries
      .filter(({ kind }) => kind === "Deployment")
      .map((entry) => `${entry.namespace ?? ""}/${entry.name}`)
      .toSorted(),
  };
}
