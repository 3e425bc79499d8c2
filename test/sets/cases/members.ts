import type { Case } from "./case.ts";

const single = { maxConcurrency: 1 };

const matching: readonly Case[] = [
  {
    name: "a cluster belongs to the first stage that matches",
    clusters: { canary: "old", rest: "old" },
    rollout: {
      stages: [
        { name: "all", selector: {} },
        { name: "canary", selector: { matchLabels: { ring: "canary" } } },
      ],
    },
    expect: { stages: "all Rolling, canary Empty" },
  },
  {
    name: "a decision group of the Placement is a stage",
    clusters: { canary: "old", rest: "old" },
    stages: { canary: { decisionGroup: "canary" }, rest: { decisionGroup: "rest" } },
    expect: { stamps: "canary-1", stages: "canary Rolling, rest Waiting" },
  },
  {
    name: "a stage that is named like that of all others has them, too",
    clusters: { unmatched: "old", other: "old" },
    stages: { unmatched: single },
    expect: { stamps: "other-1", stages: "unmatched Rolling", clusters: "1 pending, 1 updating" },
  },
  {
    name: "without stages all clusters are one stage",
    clusters: { canary: "old", rest: "old" },
    stages: {},
    expect: { stamps: "canary-1", stages: "unmatched Rolling" },
  },
  {
    name: "clusters of no stage come last",
    clusters: { canary: "old", other: "old" },
    expect: {
      stamps: "canary-1",
      stages: "canary Rolling, rest Empty, unmatched Waiting",
    },
  },
  {
    name: "clusters of no stage begin when all stages are passed",
    clusters: { canary: "done", other: "old old" },
    before: { canary: "Passed" },
    expect: { stamps: "other-1", stages: "canary Passed, rest Empty, unmatched Rolling" },
  },
  {
    name: "clusters of no stage are excluded when the set says so",
    clusters: { canary: "old", other: "old" },
    rollout: { unmatched: "Exclude" },
    expect: { stamps: "canary-1", clusters: "1 updating, 1 excluded" },
  },
  {
    name: "clusters of no stage keep the rollout from starting when the set says so",
    clusters: { canary: "old", other: "old old" },
    rollout: { unmatched: "Refuse" },
    expect: {
      stamps: "",
      phase: "Blocked",
      waitingFor: "No stage selects fleet/other-1, fleet/other-2",
    },
  },
  {
    name: "of many clusters of no stage the first three are named",
    clusters: { other: "old old old old old" },
    rollout: { unmatched: "Refuse" },
    expect: {
      waitingFor: "No stage selects fleet/other-1, fleet/other-2, fleet/other-3 and 2 more",
    },
  },
  {
    name: "an excluded cluster of no stage refuses nothing",
    clusters: { canary: "old", other: "old" },
    rollout: { unmatched: "Refuse" },
    labels: { "other-1": { "knfleet.dev/hold": "true" } },
    expect: { stamps: "canary-1", phase: "Rolling" },
  },
  {
    name: "a stage without clusters neither soaks nor waits for an approval",
    clusters: { rest: "old" },
    stages: {
      canary: { after: { soak: "1h", approval: true }, before: { approval: true } },
      rest: {},
    },
    expect: { stamps: "rest-1", stages: "canary Empty, rest Rolling" },
  },
  {
    name: "a stage whose clusters are all excluded is empty",
    clusters: { canary: "old", rest: "old" },
    labels: { "canary-1": { "knfleet.dev/hold": "true" } },
    expect: { stamps: "rest-1", stages: "canary Empty, rest Rolling" },
  },
];

const nightly = { windows: [{ cron: "0 22 * * *", duration: "6h" }] };
const darkTwo = "dark dark old none";

/** Clusters that join obey what holds for all clusters of their stage. */
const joiningWithin: readonly Case[] = [
  {
    name: "a cluster that joins during the soak waits for the window",
    clusters: { canary: "done none", rest: "old" },
    stages: { canary: { after: { soak: "30m" }, before: nightly }, rest: {} },
    before: { canary: "Soaking 10m" },
    expect: {
      stamps: "",
      phase: "Soaking",
      waitingFor: "The windows of stage canary are closed",
      nextDecisionAt: "12:20:00",
    },
  },
  {
    name: "a stage with too many dark clusters does not soak on, and a cluster that joins waits",
    clusters: { canary: "dark dark done none", rest: "old" },
    stages: { canary: { after: { soak: "30m" } }, rest: {} },
    before: { canary: "Soaking 10m" },
    expect: {
      stamps: "",
      phase: "Rolling",
      waitingFor: "Stage canary waits: 2 clusters are unreachable, maxUnreachable is 1 (10%)",
    },
  },
  {
    name: "a cluster that joins before its turn waits for the window",
    clusters: { canary: "done", rest: "old none" },
    stages: { canary: { after: { approval: true } }, rest: { before: nightly } },
    before: { canary: "AwaitingApproval 10m" },
    expect: { stamps: "", nextDecisionAt: "22:00:00" },
  },
  {
    name: "a cluster that joins before its turn waits while too many others are dark",
    clusters: { canary: "updating", rest: darkTwo },
    before: { canary: "Rolling" },
    expect: { stamps: "" },
  },
  {
    name: "clusters that join before their turn do not follow when too many of them fail",
    clusters: { canary: "updating", rest: "returned-late old none" },
    before: { canary: "Rolling" },
    expect: { stamps: "" },
  },
  {
    name: "a cluster that joins after the rollback waits for the window",
    clusters: { canary: "old", rest: "old none" },
    rollout: { ...nightly, onFailure: "Rollback" },
    revision: "failed",
    expect: { stamps: "", phase: "RolledBack", nextDecisionAt: "22:00:00" },
  },
];

const joining: readonly Case[] = [
  {
    name: "a cluster that joins a stage in its turn gets the new revision",
    clusters: { canary: "updating none", rest: "old" },
    stages: { canary: { maxConcurrency: 2 }, rest: single },
    before: { canary: "Rolling" },
    expect: { stamps: "canary-2" },
  },
  {
    name: "a cluster that joins a stage before its turn gets the revision that was completed last",
    clusters: { canary: "updating", rest: "old none" },
    before: { canary: "Rolling" },
    expect: { stamps: "rest-2@old", clusters: "1 pending, 2 updating" },
  },
  {
    name: "a cluster that joins before its turn waits when nothing was ever completed",
    clusters: { canary: "updating", rest: "none" },
    revision: "first",
    before: { canary: "Rolling" },
    expect: { stamps: "", clusters: "1 pending, 1 updating" },
  },
  {
    name: "clusters that join before their turn obey the limit of their stage",
    clusters: { canary: "updating", rest: "none none none" },
    before: { canary: "Rolling" },
    expect: { stamps: "rest-1@old rest-2@old" },
  },
  {
    name: "a cluster that hangs with a revision that was given up keeps its slot from those that join",
    clusters: { canary: "updating", rest: "hanging none" },
    stages: { canary: single, rest: single },
    before: { canary: "Rolling" },
    expect: { stamps: "" },
  },
  {
    name: "a cluster that joins a passed stage gets the new revision, and opens nothing again",
    clusters: { canary: "done none", rest: "updating old old" },
    before: { canary: "Passed", rest: "Rolling" },
    expect: {
      stamps: "canary-2 rest-2",
      phase: "Rolling",
      stages: "canary Passed, rest Rolling",
    },
  },
  {
    name: "clusters that join a complete set obey the limit of their stage",
    clusters: { canary: "done none none", rest: "done none none none" },
    revision: "completed",
    expect: { stamps: "canary-2 rest-2 rest-3", phase: "Complete" },
  },
  {
    name: "a cluster that joins while the set is halted gets nothing",
    clusters: { canary: "failed", rest: "none" },
    before: { canary: "Rolling" },
    expect: { stamps: "", phase: "Halted" },
  },
  {
    name: "a cluster that was dark is caught up in its passed stage",
    clusters: { canary: "done", rest: "done old" },
    revision: "completed",
    expect: { stamps: "rest-2", phase: "Complete" },
  },
  {
    name: "the first cluster of a stage that was empty comes before the later stages",
    clusters: { canary: "none", rest: "updating old" },
    before: { canary: "Empty", rest: "Rolling" },
    expect: { stamps: "canary-1", stages: "canary Rolling, rest Waiting" },
  },
  {
    name: "clusters that left are in no number",
    clusters: { canary: "done", rest: "updating old old" },
    before: { canary: "Passed", rest: "Rolling" },
    unselected: { "rest-1": 1 },
    expect: { stamps: "rest-2 rest-3", clusters: "2 updating, 1 done" },
  },
];

const failing: readonly Case[] = [
  {
    name: "too many failures in a passed stage halt the rollout",
    clusters: { canary: "late", rest: "updating old" },
    before: { canary: "Passed", rest: "Rolling" },
    expect: { stamps: "", phase: "Halted", stage: "canary" },
  },
  {
    name: "a cluster that joins a stage that was empty gets nothing while a later one is halted",
    clusters: { canary: "none", rest: "failed old" },
    before: { canary: "Empty", rest: "Halted" },
    expect: { stamps: "", phase: "Halted", stage: "rest" },
  },
  {
    name: "a halt names its stage, also when one before it is not passed any more",
    clusters: { canary: "none", rest: "late old" },
    before: { canary: "Empty", rest: "Passed" },
    expect: {
      phase: "Halted",
      stage: "rest",
      waitingFor:
        "Stage rest halted: 1 cluster failed, maxFailures is 0. No rollback: onFailure is Pause",
    },
  },
  {
    name: "a cluster that breaks after the rollout halts nothing",
    clusters: { canary: "late", rest: "done" },
    revision: "completed",
    expect: { phase: "Complete", clusters: "1 done, 1 failed" },
  },
  {
    name: "a cluster that breaks after the rollout keeps others of its stage from following",
    clusters: { canary: "late none", rest: "done" },
    revision: "completed",
    expect: { stamps: "", phase: "Halted", stage: "canary" },
  },
  {
    name: "failures of one stage are not those of another",
    clusters: { canary: "failed done", rest: "failed old" },
    stages: { canary: { maxFailures: 1 }, rest: { maxFailures: 1 } },
    before: { canary: "Passed", rest: "Rolling" },
    expect: { stamps: "rest-2", phase: "Rolling" },
  },
];

/** To which stage a cluster belongs, and what becomes of those that join, leave and fail. Spec: sets.md 6, R6, R7. */
export const memberCases: readonly Case[] = [...matching, ...joining, ...joiningWithin, ...failing];
