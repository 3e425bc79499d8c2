import type { Component } from "./component.ts";
import type { Condition, KubeObject, ObjectMeta } from "./kubernetes.ts";
import type { FleetSetFields } from "./schema/fleet-set-spec.ts";

export const fleetSetApiVersion = "knfleet.dev/v1alpha1";

export type FleetSetKind = "KnativeServingSet" | "KnativeEventingSet";

/** By kind of set: its names in the API, and the kind of the components that it stamps. */
export const fleetSetKinds = {
  KnativeServingSet: {
    plural: "knativeservingsets",
    shortName: "kss",
    component: "KnativeServing",
  },
  KnativeEventingSet: {
    plural: "knativeeventingsets",
    shortName: "kes",
    component: "KnativeEventing",
  },
} as const;

/** Longest name of a set, in characters. The names of its revisions need room for a hash. */
export const longestSetName = 52;

/** Labels of the components that a set stamps. Spec: sets.md 5, 11. */
export const setLabels = {
  set: "knfleet.dev/set",
  kind: "knfleet.dev/set-kind",
  revision: "knfleet.dev/set-revision",
  stage: "knfleet.dev/set-stage",
} as const;

/** On the Job of a check, and on the work that brings it: name of the check. */
export const checkLabel = "knfleet.dev/check";

/** How long the Job of a check is kept: longer than the longest soak, so that a new process still finds how it ended. */
export const checkJobKeptSeconds = 31 * 24 * 3_600;

/** Annotations of the components that a set stamps. Spec: sets.md 5, 11. */
export const setAnnotations = {
  /** When the revision was stamped, RFC 3339. Written together with the label of the revision (R4). */
  updatedAt: "knfleet.dev/set-updated-at",
  setUid: "knfleet.dev/set-uid",
  /** Name of the component that was stamped: a copy of it has another name, and is not of the set. */
  component: "knfleet.dev/set-component",
  /** Hash of the stamped spec. It shows whether the set's own values changed or another writer changed a field. */
  spec: "knfleet.dev/set-spec",
  /** The stamped content, as `contentText`: the cluster keeps it until the next stamp. `status.annotations` has the installed content. */
  content: "knfleet.dev/set-content",
  /** Since when the set no longer selects the cluster, RFC 3339. */
  unselectedAt: "knfleet.dev/set-unselected-at",
  /** What the set asks about a pulled cluster, for the controller there; see pulled-checks.ts. */
  question: "knfleet.dev/set-question",
  /** In `status.annotations`: its answers. */
  answer: "knfleet.dev/set-answer",
} as const;

/** In `status.annotations`: a user edited the spec, so that the installed content is no stamped one. */
export const editedContent = "edited";

/** A content as an annotation: the hash of a spec, and the digest of its rendering. */
export function contentText({
  spec,
  rendered,
}: {
  readonly spec: string;
  readonly rendered: string;
}): string {
  return `${spec}-${rendered}`;
}

/** Annotations of the ControllerRevisions of a set. They record the outcome of a revision for the next leader. */
export const revisionAnnotations = {
  /** Number of the revision when it last passed all stages. */
  completed: "knfleet.dev/completed-revision",
  /** Digest of the rendering of the revision, where an earlier knfleet wrote the revision without it. */
  digest: "knfleet.dev/content-digest",
  /** When a rollback gave up the revision, RFC 3339. */
  failedAt: "knfleet.dev/failed-at",
  /** When a user asked to try the revision again, RFC 3339. */
  retriedAt: "knfleet.dev/retried-at",
  /** The record of the revision, as JSON; see sets/status/record.ts. */
  record: "knfleet.dev/record",
} as const;

/** Annotations with which users steer a set. Spec: sets.md 5, R9 to R11. */
export const steering = {
  pause: "knfleet.dev/pause-rollout",
  retry: "knfleet.dev/retry",
  acceptSelection: "knfleet.dev/accept-selection",
  /** Followed by `<stage>-before` or `<stage>-after`; the value is `<revision> <user>`. */
  approve: "knfleet.dev/approve.",
  /** The value is the revision and the clusters, `namespace/name`, that its rollout leaves out. */
  skipClusters: "knfleet.dev/skip-clusters",
  /** The value is the revision and the stages that its rollout leaves out. */
  skipStages: "knfleet.dev/skip-stages",
  /** The value is the revision whose rollout ends, and the reason. */
  abort: "knfleet.dev/abort",
  /** Prefix; an action of a user follows. The value holds time, user and reason, as JSON. The controller moves it into the record of the revision. */
  did: "knfleet.dev/did.",
} as const;

/** Field manager of everything that a set writes on components. */
export const setFieldManager = "knfleet-set";

/** Label of a ClusterProfile whose cluster no set may change. */
export const holdLabel = "knfleet.dev/hold";

export interface FleetSetTemplate {
  readonly metadata?: Pick<ObjectMeta, "labels" | "annotations">;
  readonly spec?: Component["spec"];
}

export type FleetSetSpec = FleetSetFields & { readonly template: FleetSetTemplate };
export type StageSpec = NonNullable<NonNullable<FleetSetFields["rollout"]>["stages"]>[number];
export type VerifySpec = NonNullable<NonNullable<FleetSetFields["rollout"]>["verify"]>;
/** One of the further questions of a `verify`. */
export type CheckSpec = NonNullable<VerifySpec["checks"]>[number];
export type SetOverride = NonNullable<FleetSetFields["overrides"]>[number];

export type StageState =
  | "Waiting"
  | "Rolling"
  | "Soaking"
  | "AwaitingApproval"
  | "Passed"
  | "Empty"
  | "Halted";

export interface StageStatus {
  readonly name: string;
  readonly state: StageState;
  readonly clusters: number;
  readonly done: number;
  readonly failed: number;
  readonly updating: number;
  readonly unreachable: number;
  /** Number of clusters when the stage started. A percentage never allows fewer clusters than it did then. */
  readonly startSize?: number;
  readonly startedAt?: string;
  readonly doneAt?: string;
  readonly approvedBy?: string;
}

export type RolloutPhase =
  | "Waiting"
  | "Rolling"
  | "Soaking"
  | "AwaitingApproval"
  | "Complete"
  | "Halted"
  | "RollingBack"
  | "RolledBack"
  | "Paused"
  | "Blocked";

export interface FleetSetStatus {
  readonly observedGeneration?: number;
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  readonly rollout?: {
    readonly phase?: RolloutPhase;
    readonly stage?: string;
    readonly startedAt?: string;
    readonly waitingFor?: string;
    readonly failedRevision?: string;
    /** When the last pause ended; deadlines start again then. */
    readonly resumedAt?: string;
  };
  readonly clusters?: Readonly<Record<string, number>>;
  readonly stages?: readonly StageStatus[];
  readonly notable?: readonly NotableCluster[];
  readonly standings?: readonly StandingStatus[];
  readonly conditions?: readonly Condition[];
}

export interface NotableCluster {
  readonly cluster: string;
  readonly state: string;
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
}

/** What the next process has to know about a cluster since its stamp. The times are RFC 3339. */
export interface StandingStatus {
  /** `namespace/name` of the ClusterProfile. */
  readonly cluster: string;
  /** The stamp that it is about. */
  readonly stampedAt: string;
  /** From when its deadline counts. Absent: its stamp. */
  readonly countsFrom?: string;
  /** Since when it was done, when it was last seen to answer. */
  readonly doneSince?: string;
  /** It has failed, and was not done since. */
  readonly failed?: boolean;
}

export type FleetSet = KubeObject & {
  readonly apiVersion: typeof fleetSetApiVersion;
  readonly kind: FleetSetKind;
  readonly metadata: ObjectMeta & {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly spec: FleetSetSpec;
  readonly status?: FleetSetStatus;
};
