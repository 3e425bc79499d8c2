import type { Case, StageFields } from "./case.ts";

const words = (word: string, count: number): string => Array(count).fill(word).join(" ");
/** The first of so many clusters, by name. */
const first = (count: number, size: number): string =>
  Array.from({ length: size }, (_, at) => `rest-${at + 1}`)
    .toSorted()
    .slice(0, count)
    .join(" ");

/** A row about the only stage `rest`, which has begun. */
export function rolling(
  name: string,
  clusters: string,
  { fields = {}, ...others }: { fields?: StageFields } & Partial<Case>,
): Case {
  const base = { stages: { rest: fields }, before: { rest: "Rolling" } };
  return { name, clusters: { rest: clusters }, ...base, expect: {}, ...others };
}

const concurrency: readonly Case[] = [
  ["one", 1, 10, 1],
  ["a number", 3, 10, 3],
  ["more than there are", 50, 4, 4],
  ["half of five, rounded down", "50%", 5, 2],
  ["a percentage of few, at least one", "1%", 10, 1],
  ["all", "100%", 4, 4],
  ["a tenth when nothing is said", undefined, 25, 2],
  ["one of nine when nothing is said", undefined, 9, 1],
].map(([what, maxConcurrency, size, expected]) =>
  rolling(`as many clusters start as maxConcurrency allows: ${what}`, words("old", Number(size)), {
    fields: maxConcurrency === undefined ? {} : { maxConcurrency },
    expect: { stamps: first(Number(expected), Number(size)) },
  }),
);

const slots: readonly Case[] = [
  rolling("updating and settling clusters hold slots", "updating settling old old", {
    fields: { maxConcurrency: 3 },
    rollout: { minReadySeconds: 60 },
    expect: { stamps: "rest-3" },
  }),
  rolling(
    "a leader goes on after one that was killed in the middle of its stamps",
    `${words("stamped", 3)} ${words("old", 4)}`,
    {
      fields: { maxConcurrency: 5 },
      expect: { stamps: "rest-4 rest-5" },
    },
  ),
  rolling("nothing starts while more are in flight than may be", "updating updating old", {
    fields: { maxConcurrency: 1 },
    expect: { stamps: "", phase: "Rolling", waitingFor: "" },
  }),
  ...["late", "failed", "darkened", "taken", "edited", "done"].map((word) =>
    rolling(`a cluster that is ${word} holds no slot`, `${word} old`, {
      fields: { maxConcurrency: 1, maxFailures: 1 },
      expect: { stamps: "rest-2" },
    }),
  ),
  ...["hanging", "drifting"].map((word) =>
    rolling(`a ${word} cluster is stamped before those that are ready`, `old ${word} old old`, {
      fields: { maxConcurrency: 3 },
      expect: { stamps: "rest-2 rest-1 rest-3" },
    }),
  ),
  rolling("a hanging cluster keeps its slot after an edit", "old hanging old", {
    fields: { maxConcurrency: 1 },
    expect: { stamps: "rest-2" },
  }),
  rolling(
    "more hanging clusters than slots are stamped one after the other",
    "hanging hanging old",
    {
      fields: { maxConcurrency: 1 },
      expect: { stamps: "rest-1" },
    },
  ),
  rolling("a component of somebody else that is not ready comes in its order", "old foreign", {
    fields: { maxConcurrency: 1 },
    expect: { stamps: "rest-1" },
  }),
  rolling("a percentage is of the clusters that the stage began with", words("old", 10), {
    fields: { maxConcurrency: "10%" },
    before: { rest: "Rolling of 30" },
    expect: { stamps: first(3, 10) },
  }),
  rolling("a percentage grows with the stage", words("old", 20), {
    fields: { maxConcurrency: "10%" },
    before: { rest: "Rolling of 10" },
    expect: { stamps: first(2, 20) },
  }),
  rolling("excluded clusters do not count in a percentage", words("old", 20), {
    fields: { maxConcurrency: "10%" },
    spec: { clusters: { from: "Selector", exclude: [{ name: "rest-1" }] } },
    expect: { stamps: "rest-10" },
  }),
];

const halted = { phase: "Halted", stamps: "" } as const;
const failures: readonly Case[] = [
  rolling("the first failure halts when nothing is said", "failed old", {
    expect: {
      ...halted,
      waitingFor:
        "Stage rest halted: 1 cluster failed, maxFailures is 0. No rollback: onFailure is Pause",
    },
  }),
  rolling("as many failures as allowed halt nothing", "failed old", {
    fields: { maxFailures: 1 },
    expect: { phase: "Rolling", stamps: "rest-2" },
  }),
  rolling("clusters that failed and that timed out count together", "failed late old", {
    fields: { maxFailures: 1 },
    expect: halted,
  }),
  rolling("a percentage of failures is rounded down", `failed failed ${words("old", 8)}`, {
    fields: { maxFailures: "25%" },
    expect: { phase: "Rolling", stamps: "rest-10" },
  }),
  rolling("one more than a percentage halts", `failed failed failed ${words("old", 7)}`, {
    fields: { maxFailures: "25%" },
    expect: halted,
  }),
  rolling("a percentage of few allows no failure", "failed old old old", {
    fields: { maxFailures: "20%" },
    expect: halted,
  }),
  rolling("the failures of a stage that shrank are those of its start", "failed old", {
    fields: { maxFailures: "10%" },
    before: { rest: "Rolling of 10" },
    expect: { phase: "Rolling", stamps: "rest-2" },
  }),
  rolling("a raised budget ends the halt", "failed old", {
    fields: { maxFailures: 1 },
    before: { rest: "Halted" },
    expect: { phase: "Rolling", stamps: "rest-2" },
  }),
  rolling("a cluster that recovers ends the halt", "done old", {
    before: { rest: "Halted" },
    expect: { phase: "Rolling", stamps: "rest-2" },
  }),
  rolling("other words of a cluster that is not ready do not end the halt", "late-anew old", {
    before: { rest: "Halted" },
    expect: halted,
  }),
  rolling("a cluster that is unready for a moment is no failure", "late-anew old", {
    expect: { phase: "Rolling", stamps: "" },
  }),
  rolling("a failed cluster that goes dark does not end the halt", "failed-dark old old", {
    before: { rest: "Halted" },
    expect: { ...halted, notable: "rest-1 Failed ClusterProfileNotReady" },
  }),
  rolling("a cluster that goes dark without a halt is no failure", "failed-dark old old", {
    expect: { phase: "Rolling", stamps: "rest-2" },
  }),
  rolling(
    "a failed cluster that is dark ends the halt when somebody tries again",
    "failed-dark old old",
    {
      before: { rest: "Halted" },
      revision: "retried",
      expect: { phase: "Rolling", stamps: "rest-2" },
    },
  ),
  rolling("a failed cluster that is dark counts as dark, too", "failed-dark failed-dark old old", {
    fields: { maxFailures: 2 },
    before: { rest: "Halted" },
    expect: {
      stamps: "",
      waitingFor: "Stage rest waits: 2 clusters are unreachable, maxUnreachable is 1 (10%)",
    },
  }),
  rolling("a failed cluster that is back from the dark does not end the halt", "back old", {
    before: { rest: "Halted" },
    expect: halted,
  }),
  rolling("a pause does not end the halt", "late old", {
    before: { rest: "Halted" },
    rollout: { paused: true },
    expect: { phase: "Paused", stages: "rest Halted" },
  }),
  rolling("the end of a pause does not end the halt", "late old", {
    before: { rest: "Halted" },
    phase: "Paused",
    expect: halted,
  }),
  rolling("a halted stage is not passed when all others are done", "failed done done", {
    expect: { phase: "Halted", mark: "" },
  }),
  rolling("a stage passes with as many failures as allowed", "failed done done", {
    fields: { maxFailures: 1 },
    expect: { mark: "complete" },
  }),
];

const dark: readonly Case[] = [
  rolling("one of four may be dark when nothing is said", "dark old old old", {
    expect: { stamps: "rest-2" },
  }),
  rolling("the only cluster of a stage has to answer", "dark", {
    expect: {
      mark: "",
      waitingFor: "Stage rest waits: 1 cluster is unreachable, maxUnreachable is 0 (10%)",
    },
  }),
  rolling("two of four may not be dark when nothing is said", "dark dark old old", {
    expect: {
      stamps: "",
      phase: "Rolling",
      waitingFor: "Stage rest waits: 2 clusters are unreachable, maxUnreachable is 1 (10%)",
    },
  }),
  rolling("the stage says how many may be dark", "dark dark old old", {
    fields: { maxUnreachable: 2 },
    expect: { stamps: "rest-3" },
  }),
  rolling("the set says how many may be dark in stages that say nothing", "dark dark old old", {
    rollout: { maxUnreachable: "50%" },
    expect: { stamps: "rest-3" },
  }),
  rolling("what the stage says counts more than what the set says", "dark dark old old", {
    fields: { maxUnreachable: 1 },
    rollout: { maxUnreachable: "50%" },
    expect: { stamps: "" },
  }),
  rolling("no cluster may be dark when the stage says so", "dark old old old", {
    fields: { maxUnreachable: 0 },
    expect: {
      stamps: "",
      waitingFor: "Stage rest waits: 1 cluster is unreachable, maxUnreachable is 0",
    },
  }),
  rolling("no cluster may be dark when the stage says so in percent", "dark old old old", {
    fields: { maxUnreachable: "0%" },
    expect: {
      stamps: "",
      waitingFor: "Stage rest waits: 1 cluster is unreachable, maxUnreachable is 0 (0%)",
    },
  }),
  rolling("dark clusters within the budget hold no stage up", "darkened done done", {
    expect: { mark: "complete" },
  }),
  rolling(
    "50 of 1,000 clusters that do not answer hold no rollout up",
    `${words("lost", 50)} ${words("done", 950)}`,
    {
      expect: { mark: "complete" },
    },
  ),
  rolling("clusters that answer again are caught up", `${words("old", 2)} ${words("done", 28)}`, {
    revision: "completed",
    expect: { stamps: "rest-1 rest-2", phase: "Complete" },
  }),
  rolling("dark clusters beyond the budget hold a stage up without failing it", "dark lost done", {
    expect: {
      mark: "",
      phase: "Rolling",
      waitingFor: "Stage rest waits: 2 clusters are unreachable, maxUnreachable is 1 (10%)",
      clusters: "1 done, 2 unreachable",
    },
  }),
  rolling("too many dark clusters keep a stage from its start", "dark dark old", {
    before: {},
    expect: {
      stamps: "",
      phase: "Waiting",
      waitingFor: "Stage rest waits: 2 clusters are unreachable, maxUnreachable is 1 (10%)",
    },
  }),
];

const numbered = {
  "rest-1": { n: "10" },
  "rest-2": { n: "9" },
  "rest-4": { n: "1a" },
  "rest-5": { n: "007" },
};
const order: readonly Case[] = [
  rolling("clusters start by their names", "old old old", {
    fields: { maxConcurrency: 3 },
    expect: { stamps: "rest-1 rest-2 rest-3" },
  }),
  rolling("clusters start by a label: numbers, then texts, then those without", words("old", 5), {
    fields: { maxConcurrency: 5 },
    rollout: { order: "Label:n" },
    labels: numbered,
    expect: { stamps: "rest-5 rest-2 rest-1 rest-4 rest-3" },
  }),
  rolling("clusters with one value of the label start by their names", "old old old", {
    fields: { maxConcurrency: 3 },
    rollout: { order: "Label:ring" },
    expect: { stamps: "rest-1 rest-2 rest-3" },
  }),
];

/** How many clusters of a stage change at the same time, may fail, and may be dark, and in which order they start. Spec: sets.md 5, R5, R6. */
export const limitCases: readonly Case[] = [
  ...concurrency,
  ...slots,
  ...failures,
  ...dark,
  ...order,
];
