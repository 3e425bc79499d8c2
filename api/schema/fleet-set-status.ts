import { flag, int32, int64, text } from "./primitives.ts";

const count = (description: string) => ({ ...int32, description }) as const;

const clusterCounts = {
  type: "object",
  description: "Numbers of clusters by state.",
  properties: {
    selected: count("Clusters that the set selects."),
    pending: count("Clusters that have not started."),
    updating: count("Clusters that have the new revision and are not ready yet."),
    settling: count("Clusters that are ready, but not for minReadySeconds yet."),
    verifying: count("Clusters that are ready and whose checks are being asked."),
    done: count("Clusters that have the new revision and are ready."),
    failed: count("Clusters that cannot become ready, or were not ready in time."),
    unreachable: count("Clusters that do not answer."),
    excluded: count("Clusters that the set does not change."),
    diverged: count("Clusters with a component that somebody else has changed."),
    blocked: count("Clusters that the set cannot or may not change."),
  },
} as const;

const stageStatus = {
  type: "object",
  required: ["name", "state"],
  properties: {
    name: text("Name of the stage."),
    state: text("Waiting, Rolling, Soaking, AwaitingApproval, Passed, Empty or Halted."),
    clusters: count("Clusters of the stage."),
    done: count("Clusters of the stage that are done."),
    failed: count("Clusters of the stage that have failed."),
    updating: count("Clusters of the stage that are changing now."),
    unreachable: count("Clusters of the stage that do not answer."),
    startSize: count("Clusters when the stage began; a percentage is never taken of fewer."),
    startedAt: text("When the stage began."),
    doneAt: text("When its last cluster was done."),
    approvedBy: text("User who approved the stage."),
  },
} as const;

const notableCluster = {
  type: "object",
  required: ["cluster", "state"],
  properties: {
    cluster: text("Namespace and name of the ClusterProfile."),
    state: text(
      "Failed, TimedOut, Blocked, Diverged, Unreachable or Verifying; Done where workloads are scaled to zero.",
    ),
    reason: text("Why, as one word for programs."),
    message: text("Why, as a sentence for people."),
    since: text("When the component's condition Ready last changed."),
  },
} as const;

const standing = {
  type: "object",
  required: ["cluster", "stampedAt"],
  properties: {
    cluster: text("Namespace and name of the ClusterProfile."),
    stampedAt: text("When its component was last stamped."),
    countsFrom: text(
      "From when its progressDeadline counts: so much later than its stamp as it was done meanwhile. Absent: from its stamp.",
    ),
    doneSince: text("Since when it was done, when it was last seen to answer."),
    failed: flag("It has failed, and was not done since."),
  },
} as const;

const condition = {
  type: "object",
  required: ["type", "status"],
  properties: {
    type: text(
      "Ready, Selected, Progressing, Complete or Healthy; while they are True, Reconciling or Stalled.",
    ),
    status: text("True, False or Unknown."),
    reason: text("What happened, as one word for programs."),
    message: text("What happened, as a sentence for people."),
    observedGeneration: { ...int64, description: "metadata.generation that it describes." },
    lastTransitionTime: text("When the status of the condition last changed."),
  },
} as const;

/** `status` of a set. Spec: sets.md 4. */
export const fleetSetStatus = {
  type: "object",
  description: "What has been observed.",
  properties: {
    observedGeneration: {
      ...int64,
      description: "metadata.generation of the set that this status describes.",
    },
    currentRevision: text("The revision that passed all stages last."),
    updateRevision: text("The revision that is rolled out, or was rolled out last."),
    rollout: {
      type: "object",
      description: "Progress of the rollout.",
      properties: {
        phase: text(
          "Waiting, Rolling, Soaking, AwaitingApproval, Complete, Halted, RollingBack, RolledBack, Paused or Blocked.",
        ),
        stage: text("The first stage that is not passed yet."),
        startedAt: text("When the rollout began."),
        waitingFor: text("What the rollout waits for, as a sentence."),
        failedRevision: text("The revision that was given up after a rollback."),
        resumedAt: text("When the last pause ended."),
      },
    },
    clusters: clusterCounts,
    stages: {
      type: "array",
      description: "The stages in their order.",
      items: stageStatus,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    },
    notable: {
      type: "array",
      description: "The first 20 clusters that need attention, worst first.",
      items: notableCluster,
      "x-kubernetes-list-type": "atomic",
    },
    standings: {
      type: "array",
      description:
        "What the next controller has to know about clusters that failed, or were done and broke; as many as 5,000 bytes hold.",
      items: standing,
      "x-kubernetes-list-type": "atomic",
    },
    conditions: {
      type: "array",
      description:
        "Ready: all clusters are done. Selected: the clusters are known. Progressing: clusters change. Complete: all stages were passed. Healthy: no cluster needs attention. Only while they are True: Reconciling: the rollout goes on or waits for an approval. Stalled: it failed or cannot go on.",
      items: condition,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    },
  },
} as const;
