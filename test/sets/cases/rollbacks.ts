import type { Case } from "./case.ts";

const onFailure = { rollout: { onFailure: "Rollback" } } as const;
const failed = { ...onFailure, revision: "failed" } as const;

/** When a halted rollout is given up, and how its clusters go back. Spec: sets.md R10. */
export const rollbackCases: readonly Case[] = [
  {
    name: "a halted rollout is given up when the set says so",
    clusters: { canary: "failed", rest: "old" },
    ...onFailure,
    expect: { mark: "fail", stamps: "" },
  },
  {
    name: "a halted rollout stays halted in a pause",
    clusters: { canary: "failed", rest: "old" },
    rollout: { onFailure: "Rollback", paused: true },
    expect: { mark: "", phase: "Paused" },
  },
  {
    name: "without a complete revision there is nothing to go back to",
    clusters: { canary: "failed", rest: "none" },
    ...onFailure,
    revision: "first",
    expect: {
      mark: "",
      phase: "Halted",
      waitingFor:
        "Stage canary halted: 1 cluster failed, maxFailures is 0. No rollback: There is no revision that was completed before",
    },
  },
  {
    name: "a cluster that would have to skip a minor stops the rollback",
    clusters: { canary: "failed", rest: "ahead" },
    ...onFailure,
    expect: {
      mark: "",
      phase: "Halted",
      waitingFor:
        "Stage canary halted: 1 cluster failed, maxFailures is 0. No rollback: fleet/rest-1: not supported to upgrade or downgrade across multiple MINOR versions. The installed KnativeServing version is v1.24.0",
    },
  },
  {
    name: "a held cluster that could not go back stops no rollback",
    clusters: { canary: "failed", rest: "ahead" },
    labels: { "rest-1": { "knfleet.dev/hold": "true" } },
    ...onFailure,
    expect: { mark: "fail" },
  },
  {
    name: "a component that was never taken over is not touched by a rollback",
    clusters: { canary: "old", rest: "foreign" },
    ...failed,
    expect: { stamps: "", phase: "RolledBack" },
  },
  {
    name: "excluded clusters do not count in a percentage of a rollback",
    clusters: { rest: `old ${Array(19).fill("done").join(" ")}` },
    stages: { rest: { maxConcurrency: "10%" } },
    labels: { "rest-1": { "knfleet.dev/hold": "true" } },
    ...failed,
    expect: { stamps: "rest-10@old" },
  },
  {
    name: "the complete revision itself is never given up",
    clusters: { canary: "late none", rest: "done" },
    ...onFailure,
    revision: "completed",
    expect: { mark: "", phase: "Halted" },
  },
  {
    name: "the last stage goes back first, as many at once as it allows, and those that are not ready before the others",
    clusters: { canary: "failed", rest: "done done updating old" },
    ...failed,
    expect: { stamps: "rest-3@old rest-1@old", phase: "RollingBack", stage: "rest" },
  },
  {
    name: "clusters on their way back hold slots",
    clusters: { canary: "done", rest: "returning done done" },
    ...failed,
    expect: { stamps: "rest-2@old", phase: "RollingBack" },
  },
  {
    name: "the stage before follows when all of the later one are back",
    clusters: { canary: "failed done", rest: "old old" },
    ...failed,
    expect: { stamps: "canary-1@old", phase: "RollingBack", stage: "canary" },
  },
  {
    name: "no window and no approval keeps clusters from going back",
    clusters: { canary: "failed", rest: "old" },
    stages: { canary: { before: { approval: true } }, rest: {} },
    rollout: { onFailure: "Rollback", windows: [{ cron: "0 22 * * *", duration: "1h" }] },
    revision: "failed",
    expect: { stamps: "canary-1@old" },
  },
  {
    name: "a rollback takes back clusters with a revision that was never completed",
    clusters: { canary: "failed", rest: "other old" },
    ...failed,
    expect: { stamps: "rest-1@old", phase: "RollingBack" },
  },
  {
    name: "a dark cluster holds no rollback up",
    clusters: { canary: "failed", rest: "darkened" },
    ...failed,
    expect: { stamps: "canary-1@old", phase: "RollingBack" },
  },
  {
    name: "a rollback stands still in a pause",
    clusters: { canary: "failed" },
    rollout: { onFailure: "Rollback", paused: true },
    revision: "failed",
    expect: { stamps: "", phase: "Paused" },
  },
  {
    name: "a cluster that never had the failed revision is not touched",
    clusters: { canary: "old", rest: "old old" },
    ...failed,
    expect: {
      stamps: "",
      phase: "RolledBack",
      stage: "",
      stages: "canary Waiting, rest Waiting",
      waitingFor: "Revision REVISION failed; annotate knfleet.dev/retry to try it again",
    },
  },
  {
    name: "a cluster that joins after the rollback gets the complete revision",
    clusters: { canary: "old", rest: "old none none none" },
    ...failed,
    expect: { stamps: "rest-2@old rest-3@old", phase: "RolledBack" },
  },
  {
    name: "a failed revision is tried again on demand",
    clusters: { canary: "old", rest: "old" },
    ...failed,
    annotations: { "knfleet.dev/retry": "UPDATE" },
    expect: { mark: "retry", stamps: "" },
  },
];
