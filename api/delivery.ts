import type { Component, ComponentKind } from "./component.ts";
import type { Condition, KubeObject, Manifest, ObjectMeta } from "./kubernetes.ts";

/**
 * On a component: how its installation comes to its spoke. `Push`: the controller dials the spoke. `Pull`: a ManifestWork of Open Cluster Management brings the component to a
 * controller on the spoke. Absent: the flag `--delivery` decides.
 */
export const deliveryAnnotation = "knfleet.dev/delivery";

export const deliveries = ["Push", "Pull"] as const;

export type Delivery = (typeof deliveries)[number];

/** The delivery that the annotation of a component asks for; undefined without it, or for another value. */
export function askedDelivery({ metadata }: Pick<Component, "metadata">): Delivery | undefined {
  const value = metadata.annotations?.[deliveryAnnotation];
  return deliveries.find((one) => one === value);
}

/** On a component of the hub: name of the ManagedCluster in whose namespace its works are. The controller writes it before the first work. */
export const managedClusterAnnotation = "knfleet.dev/managed-cluster";

/** Name of the ManagedCluster to which works bring a component; undefined before the first work, and for others. */
export function managedClusterOf({ metadata }: Pick<Component, "metadata">): string | undefined {
  return metadata.annotations?.[managedClusterAnnotation];
}

/**
 * On a pulled component that was pushed before: the hub may still own the installation. The controller removes the annotation when the spoke reports
 * its takeover.
 */
export const pushedBeforeAnnotation = "knfleet.dev/pushed-before";

/** Whether the hub may still own the installation of a pulled component. */
export function wasPushed({ metadata }: Pick<Component, "metadata">): boolean {
  return metadata.annotations?.[pushedBeforeAnnotation] !== undefined;
}

/** Annotations of the component that a work brings to a spoke. */
export const pulledAnnotations = {
  /** Id of the hub that it comes from. */
  hubId: "knfleet.dev/hub-id",
  /** Uid of its component on that hub. */
  hubComponentUid: "knfleet.dev/hub-component-uid",
  /** Generation of its component on that hub. It shows which spec a feedback belongs to. */
  hubGeneration: "knfleet.dev/hub-generation",
} as const;

/** Label of a ClusterProfile that Open Cluster Management wrote: name of its ManagedCluster, and of the namespace of the works for it. */
export const managedClusterLabel = "open-cluster-management.io/cluster-name";

/** `spec.clusterManager.name` of ClusterProfiles that Open Cluster Management wrote. */
export const ocmManager = "open-cluster-management";

export const workApiVersion = "work.open-cluster-management.io/v1";
export const managedClusterApiVersion = "cluster.open-cluster-management.io/v1";
/** Of ManagedClusterSet and ManagedClusterSetBinding. */
export const clusterSetApiVersion = "cluster.open-cluster-management.io/v1beta2";

/** Name of the work that brings the controller to a spoke. */
export const agentWorkName = "knfleet-agent";

/** Name of the work that brings a component to its spoke. */
export function componentWorkName({
  kind,
  metadata: { uid },
}: {
  readonly kind: ComponentKind;
  readonly metadata: { readonly uid: string };
}): string {
  return `${componentWorkPrefix(kind)}${uid.slice(0, 8)}`;
}

/** How the name of each work begins that brings a component of a kind. */
export function componentWorkPrefix(kind: ComponentKind): string {
  return `knfleet-${kind.toLowerCase()}-`;
}

/** The report of the agent of Open Cluster Management about one manifest of a work. */
export interface ManifestStatus {
  readonly resourceMeta?: { readonly kind?: string; readonly name?: string };
  readonly conditions?: readonly Condition[];
  readonly statusFeedback?: { readonly values?: readonly FeedbackValue[] };
}

/** One value that a feedback rule asked for; only the field of its type is set. */
export interface FeedbackValue {
  readonly name: string;
  readonly fieldValue: { readonly string?: string; readonly integer?: number };
}

/** The parts of a ManifestWork that knfleet reads. The API server has checked them against the CRD. */
export type ManifestWork = KubeObject & {
  readonly metadata: ObjectMeta & { readonly namespace: string };
  readonly spec?: { readonly workload?: { readonly manifests?: readonly Manifest[] } };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly resourceStatus?: { readonly manifests?: readonly ManifestStatus[] };
  };
};

/** The parts of a ManagedCluster that knfleet reads. */
export type ManagedCluster = KubeObject & {
  readonly status?: { readonly conditions?: readonly Condition[] };
};

/** Condition of a ManagedCluster: whether its agent reports to the hub. */
export const availableCondition = "ManagedClusterConditionAvailable";
