import type { Case, StageFields } from "./case.ts";

const approve = (gate: string, value = "UPDATE alice") => ({
  [`knfleet.dev/approve.${gate}`]: value,
});

/** A row in which the stage `canary` has these fields and `rest` follows. */
function canary(name: string, fields: StageFields, others: Omit<Case, "name">): Case {
  return { name, stages: { canary: { maxConcurrency: 1, ...fields }, rest: {} }, ...others };
}

const needsApproval = { before: { approval: true } };
const approvals: readonly Case[] = [
  canary("a stage waits for an approval before its first cluster", needsApproval, {
    clusters: { canary: "old", rest: "old" },
    expect: {
      stamps: "",
      phase: "AwaitingApproval",
      stage: "canary",
      waitingFor: "Stage canary waits for an approval before it begins",
    },
  }),
  canary("an approved stage begins", needsApproval, {
    clusters: { canary: "old", rest: "old" },
    annotations: approve("canary-before"),
    expect: { stamps: "canary-1", phase: "Rolling", stages: "canary Rolling, rest Waiting" },
  }),
  canary("an approval of another revision begins nothing", needsApproval, {
    clusters: { canary: "old" },
    annotations: approve("canary-before", "prod-0123456789 alice"),
    expect: { stamps: "", phase: "AwaitingApproval" },
  }),
  canary("an approval of another gate begins nothing", needsApproval, {
    clusters: { canary: "old" },
    annotations: approve("canary-after"),
    expect: { stamps: "", phase: "AwaitingApproval" },
  }),
  canary("an approval that is taken back stops no stage that has begun", needsApproval, {
    clusters: { canary: "old" },
    before: { canary: "Rolling" },
    expect: { stamps: "canary-1" },
  }),
  {
    name: "an approval before its time lets no stage overtake another",
    clusters: { canary: "updating", rest: "old" },
    stages: { canary: {}, rest: needsApproval },
    annotations: approve("rest-before"),
    before: { canary: "Rolling" },
    expect: { stamps: "", stages: "canary Rolling, rest Waiting" },
  },
];

const soaked = { after: { soak: "30m" } };
const soaks: readonly Case[] = [
  canary("the soak begins when the last cluster is done", soaked, {
    clusters: { canary: "done", rest: "old" },
    before: { canary: "Rolling" },
    expect: { stamps: "", phase: "Soaking", stage: "canary", nextDecisionAt: "12:30:00" },
  }),
  canary("a soak that is not over keeps the next stage from its start", soaked, {
    clusters: { canary: "done", rest: "old" },
    before: { canary: "Soaking 29m" },
    expect: { stamps: "", phase: "Soaking", nextDecisionAt: "12:01:00" },
  }),
  canary("the next stage begins when the soak is over", soaked, {
    clusters: { canary: "done", rest: "old" },
    before: { canary: "Soaking 30m" },
    expect: { stamps: "rest-1", phase: "Rolling", stages: "canary Passed, rest Rolling" },
  }),
  canary(
    "without a soak the next stage begins at once",
    {},
    {
      clusters: { canary: "done", rest: "old" },
      before: { canary: "Rolling" },
      expect: { stamps: "rest-1", stages: "canary Passed, rest Rolling" },
    },
  ),
  canary("a soak whose begin was lost starts anew", soaked, {
    clusters: { canary: "done", rest: "old" },
    expect: { stamps: "", phase: "Soaking", nextDecisionAt: "12:30:00" },
  }),
  canary("a begin of the soak in the future is now", soaked, {
    clusters: { canary: "done", rest: "old" },
    at: "11:00:00",
    before: { canary: "Soaking 0m" },
    expect: { phase: "Soaking", nextDecisionAt: "11:30:00" },
  }),
  canary(
    "a longer soak counts at once",
    { after: { soak: "1h" } },
    {
      clusters: { canary: "done", rest: "old" },
      before: { canary: "Soaking 40m" },
      expect: { phase: "Soaking", nextDecisionAt: "12:20:00" },
    },
  ),
  canary("a cluster that joins during the soak gets the revision", soaked, {
    clusters: { canary: "done none", rest: "old" },
    before: { canary: "Soaking 10m" },
    expect: { stamps: "canary-2", phase: "Soaking" },
  }),
  canary("a soak is not passed with a cluster that is not ready any more", soaked, {
    clusters: { canary: "updating", rest: "old" },
    before: { canary: "Soaking 40m" },
    expect: { stamps: "", phase: "Rolling", stage: "canary" },
  }),
  canary("a soak does not go on with a cluster that is not ready any more", soaked, {
    clusters: { canary: "updating", rest: "old" },
    before: { canary: "Soaking 1m" },
    expect: { stamps: "", phase: "Rolling", stage: "canary" },
  }),
  canary("a failure during the soak halts the rollout", soaked, {
    clusters: { canary: "late", rest: "old" },
    before: { canary: "Soaking 10m" },
    expect: { stamps: "", phase: "Halted", stage: "canary" },
  }),
];

const approvedAfter = { after: { soak: "30m", approval: true } };
const afterwards: readonly Case[] = [
  canary("a stage waits for an approval after its soak", approvedAfter, {
    clusters: { canary: "done", rest: "old" },
    before: { canary: "Soaking 31m" },
    expect: {
      stamps: "",
      phase: "AwaitingApproval",
      stage: "canary",
      waitingFor: "Stage canary is done and waits for an approval",
      nextDecisionAt: "",
    },
  }),
  canary("an approval during the soak does not shorten it", approvedAfter, {
    clusters: { canary: "done", rest: "old" },
    annotations: approve("canary-after"),
    before: { canary: "Soaking 10m" },
    expect: { stamps: "", phase: "Soaking" },
  }),
  canary("an approved stage lets the next one begin", approvedAfter, {
    clusters: { canary: "done", rest: "old" },
    annotations: approve("canary-after"),
    before: { canary: "AwaitingApproval 31m" },
    expect: { stamps: "rest-1", stages: "canary Passed, rest Rolling" },
  }),
  canary("an approval of another revision passes no stage", approvedAfter, {
    clusters: { canary: "done", rest: "old" },
    annotations: approve("canary-after", "prod-0123456789 alice"),
    before: { canary: "AwaitingApproval 31m" },
    expect: { stamps: "", phase: "AwaitingApproval" },
  }),
  canary("an approval that is taken back opens no passed stage again", approvedAfter, {
    clusters: { canary: "done", rest: "old" },
    before: { canary: "Passed 60m", rest: "Rolling" },
    expect: { stamps: "rest-1", stages: "canary Passed, rest Rolling" },
  }),
  {
    name: "the last stage waits for its approval, too",
    clusters: { canary: "done", rest: "done" },
    stages: { canary: {}, rest: approvedAfter },
    before: { canary: "Passed", rest: "Soaking 31m" },
    expect: { mark: "", phase: "AwaitingApproval", stage: "rest" },
  },
];

const nightly = { cron: "0 22 * * *", duration: "6h" };
/** A row in which the windows of the whole set are these. */
function within(name: string, windows: readonly object[], others: Partial<Case>): Case {
  return {
    name,
    clusters: { rest: "old" },
    stages: { rest: { before: { windows: windows.map((window) => ({ ...nightly, ...window })) } } },
    expect: {},
    ...others,
  };
}

const closed = { stamps: "", waitingFor: "The windows of stage rest are closed" } as const;
const berlin = { timeZone: "Europe/Berlin" };
const windows: readonly Case[] = [
  within("nothing starts before the window opens", [{}], {
    at: "21:59:59",
    expect: { ...closed, phase: "Waiting", nextDecisionAt: "22:00:00" },
  }),
  within("clusters start when the window opens", [{}], {
    at: "22:00:00",
    expect: { stamps: "rest-1", nextDecisionAt: "2026-11-26T04:00:00Z" },
  }),
  within("a window is open over midnight", [{}], {
    at: "2026-11-26T03:59:59Z",
    expect: { stamps: "rest-1", nextDecisionAt: "2026-11-26T04:00:00Z" },
  }),
  within("a window closes at the end of its duration", [{}], {
    at: "2026-11-26T04:00:00Z",
    expect: { ...closed, nextDecisionAt: "2026-11-26T22:00:00Z" },
  }),
  within("a window of weekdays is closed on Saturday", [{ cron: "0 10 * * 1-5" }], {
    at: "2026-11-28T12:00:00Z",
    expect: { ...closed, nextDecisionAt: "2026-11-30T10:00:00Z" },
  }),
  within("one of two windows is enough", [{}, { cron: "0 11 * * *", duration: "2h" }], {
    expect: { stamps: "rest-1", nextDecisionAt: "13:00:00" },
  }),
  within("of two closed windows the next one counts", [{}, { cron: "0 20 * * *" }], {
    expect: { ...closed, nextDecisionAt: "20:00:00" },
  }),
  within("windows that overlap close together", [{ cron: "0 * * * *", duration: "90m" }], {
    at: "12:10:00",
    expect: { stamps: "rest-1", nextDecisionAt: "13:30:00" },
  }),
  within("a window opens by the clock of its time zone", [berlin], {
    at: "20:59:59",
    expect: { ...closed, nextDecisionAt: "21:00:00" },
  }),
  within("a window opens an hour earlier in summer", [berlin], {
    at: "2026-07-01T12:00:00Z",
    expect: { nextDecisionAt: "2026-07-01T20:00:00Z" },
  }),
  within("a window lasts as long as it says when the clocks go forward", [berlin], {
    at: "2026-03-28T21:30:00Z",
    expect: { stamps: "rest-1", nextDecisionAt: "2026-03-29T03:00:00Z" },
  }),
  within("a window lasts as long as it says when the clocks go back", [berlin], {
    at: "2026-10-24T20:30:00Z",
    expect: { stamps: "rest-1", nextDecisionAt: "2026-10-25T02:00:00Z" },
  }),
  within(
    "a window in the hour that does not exist opens all the same",
    [{ ...berlin, cron: "30 2 * * *" }],
    {
      at: "2026-03-29T00:00:00Z",
      expect: { nextDecisionAt: "2026-03-29T01:30:00Z" },
    },
  ),
  within(
    "a window in the hour that comes twice opens once",
    [{ ...berlin, cron: "30 2 * * *", duration: "10m" }],
    {
      at: "2026-10-25T01:31:00Z",
      expect: { ...closed, nextDecisionAt: "2026-10-26T01:30:00Z" },
    },
  ),
  within("a window that nobody can compute never opens", [{ cron: "61 * * * *" }], {
    expect: { ...closed, nextDecisionAt: "" },
  }),
  within("what runs goes on while the window is closed, and nothing new starts", [{}], {
    clusters: { rest: "updating old" },
    before: { rest: "Rolling" },
    expect: {
      ...closed,
      phase: "Rolling",
      clusters: "1 pending, 1 updating",
      nextDecisionAt: "12:10:00",
    },
  }),
  within("a stage that has nothing to start does not wait for its window", [{}], {
    clusters: { rest: "updating" },
    before: { rest: "Rolling" },
    expect: { waitingFor: "", nextDecisionAt: "12:10:00" },
  }),
  within("a complete set does not look at its windows", [{}], {
    clusters: { rest: "done" },
    revision: "completed",
    expect: { phase: "Complete", waitingFor: "", nextDecisionAt: "" },
  }),
  within("a cluster that joins a complete set waits for the window", [{}], {
    clusters: { rest: "done none" },
    revision: "completed",
    expect: { ...closed, phase: "Complete", nextDecisionAt: "22:00:00" },
  }),
  {
    name: "the windows of the set are those of stages that say nothing",
    clusters: { canary: "done", rest: "old" },
    rollout: { windows: [nightly] },
    before: { canary: "Passed" },
    expect: { ...closed, nextDecisionAt: "22:00:00" },
  },
  within("the windows of a stage count more than those of the set", [{ cron: "0 11 * * *" }], {
    rollout: { windows: [nightly] },
    expect: { stamps: "rest-1" },
  }),
  within("an empty list of a stage is no window at all", [], {
    rollout: { windows: [nightly] },
    expect: { stamps: "rest-1" },
  }),
];

/** What a stage waits for before its first and after its last cluster. Spec: sets.md 5, R9. */
export const gateCases: readonly Case[] = [...approvals, ...soaks, ...afterwards, ...windows];
