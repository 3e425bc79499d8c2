import type { Case } from "./case.ts";

const held = { "canary-1": { "knfleet.dev/hold": "true" } };
const gated = { before: { approval: true }, after: { soak: "1h", approval: true } };
const five = "old old old old old";
const another = { template: { spec: { version: "1.23.1" } } };
const hashed = {
  clusters: { rest: five },
  stages: { rest: { maxConcurrency: 5 } },
  rollout: { order: "Hashed" },
};

/** The faults that users of other systems complain of, each of which one rule prevents. P13 is in set-status.test.ts. Spec: sets.md 2. */
export const knownFaultCases: readonly Case[] = [
  {
    name: "P1: a cluster that never stopped being ready settles after its stamp all the same",
    clusters: { canary: "kept", rest: "old" },
    rollout: { minReadySeconds: 60 },
    before: { canary: "Rolling" },
    expect: {
      stamps: "",
      stage: "canary",
      clusters: "1 pending, 1 settling",
      nextDecisionAt: "12:00:50",
    },
  },
  {
    name: "P2: what a component says of the spec before passes no stage",
    clusters: { canary: "stamped", rest: "old" },
    before: { canary: "Rolling" },
    expect: { stamps: "", stage: "canary", clusters: "1 pending, 1 updating" },
  },
  {
    name: "P3: a cluster that differs on purpose and is ready holds no stage up",
    clusters: { canary: "edited", rest: "old" },
    before: { canary: "Rolling" },
    expect: { stamps: "rest-1", stages: "canary Passed, rest Rolling" },
  },
  {
    name: "P4: clusters that join, leave and go dark in the middle fail nothing",
    clusters: { canary: "done none", rest: "updating darkened old old" },
    before: { canary: "Passed", rest: "Rolling of 5" },
    unselected: { "rest-4": 1 },
    expect: {
      stamps: "canary-2 rest-3",
      phase: "Rolling",
      stages: "canary Passed, rest Rolling",
    },
  },
  {
    name: "P5: clusters of no stage do not stop the others",
    clusters: { canary: "done", rest: "done", other: "old" },
    before: { canary: "Passed", rest: "Passed" },
    expect: { stamps: "other-1", stages: "canary Passed, rest Passed, unmatched Rolling" },
  },
  {
    name: "P6: a stage without clusters asks nobody, and is not watched",
    clusters: { canary: "done", rest: "old" },
    stages: { canary: {}, empty: gated, rest: {} },
    before: { canary: "Passed" },
    expect: { stamps: "rest-1", stages: "canary Passed, empty Empty, rest Rolling" },
  },
  {
    name: "P7: a failed stage goes back without anybody",
    clusters: { canary: "late", rest: "old" },
    before: { canary: "Rolling" },
    rollout: { onFailure: "Rollback" },
    expect: { mark: "fail" },
  },
  {
    name: "P8: a held cluster in the middle of its update takes no slot",
    clusters: { canary: "updating old", rest: "old" },
    labels: held,
    before: { canary: "Rolling" },
    expect: { stamps: "canary-2" },
  },
  {
    name: "P9: nothing is stamped after one failure too many",
    clusters: { canary: "done", rest: "failed late updating old old old" },
    stages: { canary: {}, rest: { maxConcurrency: 5, maxFailures: 1 } },
    before: { canary: "Passed", rest: "Rolling" },
    expect: { stamps: "", phase: "Halted", stage: "rest" },
  },
  {
    name: "P10: an approval does not pass a stage that was not watched to its end",
    clusters: { canary: "done", rest: "old" },
    stages: { canary: { after: { soak: "30m", approval: true } }, rest: {} },
    annotations: { "knfleet.dev/approve.canary-after": "UPDATE alice" },
    before: { canary: "Soaking 29m" },
    expect: { stamps: "", phase: "Soaking", nextDecisionAt: "12:01:00" },
  },
  {
    name: "P11: a halted rollout goes on when its clusters are well, whatever the status said",
    clusters: { canary: "done", rest: "old" },
    before: { canary: "Halted" },
    phase: "Halted",
    expect: { stamps: "rest-1", phase: "Rolling", stages: "canary Passed, rest Rolling" },
  },
  {
    name: "P12: clusters start in an order that follows from the revision",
    ...hashed,
    expect: { stamps: "rest-4 rest-3 rest-1 rest-5 rest-2" },
  },
  {
    name: "P12: another revision has another order",
    ...hashed,
    spec: another,
    expect: { stamps: "rest-5 rest-1 rest-4 rest-3 rest-2" },
  },
];
