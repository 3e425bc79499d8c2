import type { Case } from "./case.ts";

const zoned = {
  template: { spec: { version: "1.23.0", registry: { default: "$(cluster.labels[zone])/x" } } },
};

/** What all rows have: a single stage `rest` that has begun. */
const rolling = { stages: { rest: { maxConcurrency: 2 } }, before: { rest: "Rolling" } } as const;

const rows: readonly Case[] = [
  {
    name: "a cluster without a component is pending, and gets one",
    clusters: { rest: "none" },
    expect: { stamps: "rest-1", clusters: "1 updating" },
  },
  {
    name: "a cluster with another revision is pending, and is stamped",
    clusters: { rest: "old" },
    expect: { stamps: "rest-1", clusters: "1 updating" },
  },
  {
    name: "a cluster that was stamped with another value is pending, and is stamped again",
    clusters: { rest: "drifted" },
    expect: { stamps: "rest-1", clusters: "1 updating" },
  },
  {
    name: "a component that is being deleted is pending, and not stamped",
    clusters: { rest: "leaving" },
    expect: { stamps: "", clusters: "1 pending", phase: "Rolling" },
  },
  {
    name: "a stamped cluster is updating until its deadline",
    clusters: { rest: "updating" },
    expect: { stamps: "", clusters: "1 updating", nextDecisionAt: "12:10:00" },
  },
  {
    name: "a component that has not seen its spec yet is updating, and is looked at when its words count",
    clusters: { rest: "stamped" },
    expect: { clusters: "1 updating", nextDecisionAt: "12:00:50" },
  },
  {
    name: "a cluster that is ready for too short a time settles until that is over",
    clusters: { rest: "settling" },
    rollout: { minReadySeconds: 60 },
    expect: { clusters: "1 settling", nextDecisionAt: "12:00:50", phase: "Rolling" },
  },
  {
    name: "without minReadySeconds a cluster is done as soon as it is ready",
    clusters: { rest: "settling" },
    expect: { mark: "complete" },
  },
  {
    name: "a cluster that is ready long enough is done",
    clusters: { rest: "done old" },
    rollout: { minReadySeconds: 600 },
    expect: { clusters: "1 updating, 1 done" },
  },
  {
    name: "a cluster that is not ready at its deadline has timed out",
    clusters: { rest: "late" },
    expect: { clusters: "1 failed", notable: "rest-1 TimedOut NotReady" },
  },
  {
    name: "the deadline is 15 minutes unless the set says otherwise",
    clusters: { rest: "updating" },
    rollout: { progressDeadline: "5m" },
    expect: { notable: "rest-1 TimedOut NotReady" },
  },
  {
    name: "without a deadline no cluster times out",
    clusters: { rest: "late" },
    rollout: { progressDeadline: "None" },
    expect: { clusters: "1 updating", nextDecisionAt: "" },
  },
  {
    name: "the deadline starts again when the cluster is back",
    clusters: { rest: "back" },
    expect: { clusters: "1 updating", nextDecisionAt: "12:10:00" },
  },
  {
    name: "the deadline does not run in a pause",
    clusters: { rest: "late" },
    rollout: { paused: true },
    expect: { clusters: "1 updating", nextDecisionAt: "", phase: "Paused" },
  },
  {
    name: "the deadline starts again at the end of a pause",
    clusters: { rest: "late" },
    resumedAt: "2026-11-25T11:50:00Z",
    expect: { clusters: "1 updating", nextDecisionAt: "12:05:00" },
  },
  {
    name: "the first look after a pause is its end",
    clusters: { rest: "late" },
    phase: "Paused",
    expect: { clusters: "1 updating", nextDecisionAt: "12:15:00", phase: "Rolling" },
  },
  {
    name: "a reason that no retry mends fails at once",
    clusters: { rest: "failed" },
    expect: { clusters: "1 failed", notable: "rest-1 Failed KubernetesVersionTooOld" },
  },
  {
    name: "a failed cluster is pending again when somebody asked to try again",
    clusters: { rest: "failed late done" },
    revision: "retried",
    expect: { stamps: "rest-1 rest-2", clusters: "2 updating, 1 done" },
  },
  {
    name: "a control plane that is not healthy makes a cluster unreachable",
    clusters: { rest: "dark" },
    expect: { stamps: "", notable: "rest-1 Unreachable ClusterProfileNotReady" },
  },
  {
    name: "a component that cannot reach its cluster makes it unreachable, whatever its revision",
    clusters: { rest: "lost" },
    expect: { stamps: "", notable: "rest-1 Unreachable SpokeUnreachable" },
  },
  {
    name: "a cluster that goes dark during its update is unreachable",
    clusters: { rest: "darkened" },
    expect: { notable: "rest-1 Unreachable SpokeUnreachable" },
  },
  {
    name: "a selected cluster without a ClusterProfile is unreachable",
    clusters: {},
    selection: { kind: "clusters", clusters: [{ namespace: "fleet", name: "rest-1" }] },
    stages: {},
    expect: { notable: "rest-1 Unreachable ClusterProfileNotFound" },
  },
  {
    name: "a version that is two minors away blocks a cluster",
    clusters: { rest: "far" },
    expect: { stamps: "", notable: "rest-1 Blocked VersionNotEligible" },
  },
  {
    name: "another component of the cluster blocks it",
    clusters: { rest: "taken" },
    expect: { notable: "rest-1 Blocked DuplicateComponent" },
  },
  {
    name: "a value that the ClusterProfile does not give blocks a cluster",
    clusters: { rest: "none old" },
    labels: { "rest-2": { zone: "b" } },
    spec: zoned,
    expect: { stamps: "rest-2", notable: "rest-1 Blocked ValueMissing" },
  },
  {
    name: "a component of somebody else blocks a cluster",
    clusters: { rest: "none" },
    obstacles: { "rest-1": "NotOwned" },
    expect: { stamps: "", notable: "rest-1 Blocked NotOwned" },
  },
  {
    name: "an older set blocks a cluster",
    clusters: { rest: "none" },
    obstacles: { "rest-1": "Duplicate" },
    expect: { stamps: "", notable: "rest-1 Blocked Duplicate" },
  },
  {
    name: "a missing permission blocks a cluster that runs well",
    clusters: { rest: "done" },
    obstacles: { "rest-1": "NotPermitted" },
    expect: { notable: "rest-1 Blocked NotPermitted" },
  },
  {
    name: "an excluded cluster keeps what it has",
    clusters: { rest: "old none updating" },
    spec: { clusters: { from: "Selector", exclude: [{ name: "rest-1" }, { name: "rest-2" }] } },
    expect: { stamps: "", clusters: "1 updating, 2 excluded" },
  },
  {
    name: "an exclusion of another namespace is about another cluster",
    clusters: { rest: "old" },
    spec: { clusters: { from: "Selector", exclude: [{ name: "rest-1", namespace: "other" }] } },
    expect: { stamps: "rest-1" },
  },
  {
    name: "a held cluster keeps what it has",
    clusters: { rest: "old updating" },
    labels: { "rest-1": { "knfleet.dev/hold": "true" } },
    expect: { stamps: "", clusters: "1 updating, 1 excluded" },
  },
  {
    name: "a hold with any other value than false holds",
    clusters: { rest: "old old updating" },
    labels: { "rest-1": { "knfleet.dev/hold": "" }, "rest-2": { "knfleet.dev/hold": "yes" } },
    expect: { stamps: "", clusters: "1 updating, 2 excluded" },
  },
  {
    name: "a hold that is false holds nothing",
    clusters: { rest: "old" },
    labels: { "rest-1": { "knfleet.dev/hold": "false" } },
    expect: { stamps: "rest-1" },
  },
  {
    name: "a cluster with a changed component holds nothing up while it is ready",
    clusters: { rest: "edited" },
    expect: { mark: "complete" },
  },
  {
    name: "a cluster with a changed component that is not ready counts like every other, and is not fought",
    clusters: { rest: "spoiled" },
    expect: { stamps: "", notable: "rest-1 TimedOut NotReady", phase: "Halted" },
  },
  {
    name: "the worst clusters are told first",
    clusters: { rest: "dark edited taken late failed" },
    expect: {
      notable:
        "rest-5 Failed KubernetesVersionTooOld, rest-4 TimedOut NotReady, rest-3 Blocked DuplicateComponent, rest-2 Diverged Ready, rest-1 Unreachable ClusterProfileNotReady",
    },
  },
];

/** Every state of a cluster. Spec: sets.md 6, R3 to R5, R8. */
export const stateCases: readonly Case[] = rows.map((row) => ({ ...rolling, ...row }));
