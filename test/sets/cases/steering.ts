import type { Case } from "./case.ts";

const completing: readonly Case[] = [
  {
    name: "the revision is complete when all stages are passed",
    clusters: { canary: "done", rest: "done done" },
    before: { canary: "Passed", rest: "Rolling" },
    expect: { mark: "complete", stamps: "" },
  },
  {
    name: "a complete set says so",
    clusters: { canary: "done", rest: "done done" },
    revision: "completed",
    expect: {
      phase: "Complete",
      mark: "",
      conditions:
        "Complete True Complete, Healthy True Healthy, Progressing False Complete, Ready True Ready, Selected True Selected",
    },
  },
  {
    name: "a complete set is not ready while one of its clusters is not done",
    clusters: { canary: "done", rest: "done dark" },
    revision: "completed",
    expect: {
      conditions:
        "Complete True Complete, Healthy False Unreachable, Progressing False Complete, Ready False Complete, Selected True Selected",
    },
  },
  {
    name: "a rollout without any cluster completes no revision",
    clusters: {},
    expect: { mark: "", phase: "Complete", stages: "canary Empty, rest Empty" },
  },
  {
    name: "clusters that come after a rollout without any begin at the first stage",
    clusters: { canary: "none", rest: "none" },
    revision: "first",
    before: { canary: "Empty", rest: "Empty" },
    expect: { stamps: "canary-1", phase: "Rolling" },
  },
  {
    name: "a revision that is not recorded is recorded before anything is stamped",
    clusters: { canary: "old", rest: "old" },
    revision: "unrecorded",
    expect: { mark: "begin 2", stamps: "" },
  },
  {
    name: "the first rollout begins at the first stage",
    clusters: { canary: "none none", rest: "none" },
    revision: "first",
    expect: { stamps: "canary-1", stages: "canary Rolling, rest Waiting" },
  },
];

const steered: readonly Case[] = [
  {
    name: "a pause of the spec stamps nothing, and remembers the stage",
    clusters: { canary: "old", rest: "old" },
    rollout: { paused: true },
    expect: { stamps: "", phase: "Paused", stage: "canary" },
  },
  {
    name: "a pause by the annotation stamps nothing, whatever its text",
    clusters: { canary: "old", rest: "none" },
    annotations: { "knfleet.dev/pause-rollout": "" },
    expect: { stamps: "", phase: "Paused" },
  },
  {
    name: "a pause removes nothing",
    clusters: { rest: "done done" },
    revision: "completed",
    rollout: { paused: true },
    unselected: { "rest-2": 60 },
    expect: { removals: "", phase: "Paused" },
  },
  {
    name: "a wish to try again is recorded alone",
    clusters: { canary: "failed", rest: "old" },
    annotations: { "knfleet.dev/retry": "UPDATE" },
    expect: { mark: "retry", stamps: "" },
  },
  {
    name: "a wish to try another revision again is none",
    clusters: { canary: "failed", rest: "old" },
    annotations: { "knfleet.dev/retry": "prod-0123456789" },
    expect: { mark: "", phase: "Halted" },
  },
  {
    name: "an unusable selection stamps nothing, and removes nothing",
    clusters: { canary: "old", rest: "done" },
    selection: { kind: "unusable", reason: "PlacementNotFound", message: "No Placement" },
    expect: {
      stamps: "",
      removals: "",
      phase: "Blocked",
      waitingFor: "No Placement",
      conditions:
        "Progressing False PlacementNotFound, Selected False PlacementNotFound, Stalled True PlacementNotFound",
    },
  },
  {
    name: "an unusable selection during a pause stays a pause",
    clusters: { canary: "old" },
    rollout: { paused: true },
    selection: { kind: "unusable", reason: "PlacementNotFound", message: "No Placement" },
    expect: { phase: "Paused" },
  },
];

/** How a rollout begins and ends, and how people steer it. Spec: sets.md 5, R1, R2, R10. */
export const steeringCases: readonly Case[] = [...completing, ...steered];
