import { shortHashOf } from "../../../sets/desired-spec.ts";
import type { Case } from "./case.ts";

const words = (word: string, count: number): string => Array(count).fill(word).join(" ");
const stages = { rest: { maxConcurrency: 2 } };
const orphanLater = { policy: "Orphan", after: "10m", maxAtOnce: 5 } as const;

/** A row about a complete set of which these clusters are not selected any more, and since when their component is marked. */
function left(
  name: string,
  unselected: Readonly<Record<string, number | undefined>>,
  others: Partial<Case>,
): Case {
  const base = { stages, revision: "completed", clusters: { rest: words("done", 9) } } as const;
  return { name, ...base, unselected, expect: {}, ...others };
}

const gone = (count: number, minutes?: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`rest-${at + 1}`, minutes]));

const unselected: readonly Case[] = [
  left(
    "the component of a cluster that is not selected any more is marked first",
    { "rest-1": undefined },
    {
      expect: { removals: "markUnselected rest-1", clusters: "8 done" },
    },
  ),
  left(
    "it stays until it was unselected for long enough",
    { "rest-1": 9 },
    {
      expect: { removals: "", nextDecisionAt: "12:01:00" },
    },
  ),
  left("it is left after that time", { "rest-1": 10 }, { expect: { removals: "orphan rest-1" } }),
  left(
    "it is removed after that time when the set says so",
    { "rest-1": 10 },
    {
      spec: { whenUnselected: { ...orphanLater, policy: "Delete" } },
      expect: { removals: "remove rest-1" },
    },
  ),
  left(
    "the set says how long it stays",
    { "rest-1": 59 },
    {
      spec: { whenUnselected: { ...orphanLater, after: "1h" } },
      expect: { removals: "", nextDecisionAt: "12:01:00" },
    },
  ),
  left(
    "no more are removed at once than the set allows, the first first",
    { "rest-1": 11, "rest-2": 13, "rest-3": 12 },
    {
      spec: { whenUnselected: { policy: "Delete", after: "10m", maxAtOnce: 2 } },
      expect: { removals: "remove rest-2 rest-3" },
    },
  ),
  left(
    "a component that is being deleted counts among those",
    { "rest-1": 11, "rest-2": 12 },
    {
      clusters: { rest: "done leaving done done" },
      spec: { whenUnselected: { policy: "Delete", after: "10m", maxAtOnce: 1 } },
      expect: { removals: "" },
    },
  ),
  left(
    "a cluster that is selected again loses its mark",
    {},
    {
      marked: ["rest-3"],
      expect: { removals: "unmark rest-3" },
    },
  ),
  left(
    "an excluded cluster keeps its component",
    { "rest-1": 60 },
    {
      spec: { clusters: { from: "Selector", exclude: [{ name: "rest-1" }] } },
      expect: { removals: "" },
    },
  ),
  left(
    "a held cluster keeps its component",
    { "rest-1": 60 },
    {
      labels: { "rest-1": { "knfleet.dev/hold": "true" } },
      expect: { removals: "" },
    },
  ),
  left(
    "a cluster that is held without a value keeps its component",
    { "rest-1": 60 },
    {
      labels: { "rest-1": { "knfleet.dev/hold": "" } },
      expect: { removals: "" },
    },
  ),
  left(
    "a cluster without a component has nothing to lose",
    { "rest-1": undefined },
    {
      clusters: { rest: "none done" },
      expect: { removals: "" },
    },
  ),
];

const suspicious =
  "Complete True Complete, Healthy True Healthy, Progressing False Complete, Ready False SuspiciousShrink, Selected False SuspiciousShrink";
const remaining = ["fleet/rest-7", "fleet/rest-8", "fleet/rest-9"];
const shrinking: readonly Case[] = [
  left("five clusters may leave at once", gone(5), {
    expect: { removals: "markUnselected rest-1 rest-2 rest-3 rest-4 rest-5" },
  }),
  left("six of nine are suspicious, and nothing is removed", gone(6, 60), {
    expect: { removals: "", conditions: suspicious },
  }),
  left("a fifth of many may leave at once", gone(8, 10), {
    clusters: { rest: words("done", 40) },
    spec: { whenUnselected: { ...orphanLater, maxAtOnce: 1 } },
    expect: { removals: "orphan rest-1" },
  }),
  left("more than a fifth of many are suspicious", gone(9, 10), {
    clusters: { rest: words("done", 40) },
    expect: { removals: "", conditions: suspicious },
  }),
  left(
    "an empty selection is suspicious, however few there were",
    { "rest-1": 60 },
    {
      clusters: { rest: "done" },
      expect: { removals: "" },
    },
  ),
  left("a suspicious selection is taken when its hash is accepted", gone(6, 60), {
    annotations: { "knfleet.dev/accept-selection": shortHashOf(remaining) },
    expect: { removals: "orphan rest-1 rest-2 rest-3 rest-4 rest-5" },
  }),
  left("the hash of another selection accepts nothing", gone(6, 60), {
    annotations: { "knfleet.dev/accept-selection": shortHashOf([]) },
    expect: { removals: "" },
  }),
  left("in a suspicious selection a cluster that is selected again loses its mark", gone(6, 60), {
    marked: ["rest-8"],
    expect: { removals: "unmark rest-8" },
  }),
];

const deleted = { deleting: true, clusters: { canary: "done done", rest: "done done done" } };
const deletions: readonly Case[] = [
  {
    name: "a deleted set leaves all components",
    ...deleted,
    expect: { removals: "orphan canary-1 canary-2 rest-1 rest-2 rest-3", stamps: "" },
  },
  {
    name: "a deleted set removes the last stage first, as many at once as the stage allows",
    ...deleted,
    spec: { deletionPolicy: "Delete" },
    expect: { removals: "remove rest-1 rest-2" },
  },
  {
    name: "a component that is being deleted counts in that limit",
    ...deleted,
    clusters: { canary: "done", rest: "leaving done done" },
    spec: { deletionPolicy: "Delete" },
    expect: { removals: "remove rest-2" },
  },
  {
    name: "the stage before follows when the last one is gone",
    ...deleted,
    clusters: { canary: "done done" },
    spec: { deletionPolicy: "Delete" },
    expect: { removals: "remove canary-1" },
  },
  {
    name: "components of a stage that is not there any more go first",
    ...deleted,
    clusters: { canary: "done", former: "done" },
    spec: { deletionPolicy: "Delete" },
    expect: { removals: "remove former-1" },
  },
  {
    name: "a deleted set that is paused is deleted all the same",
    ...deleted,
    rollout: { paused: true },
    expect: { removals: "orphan canary-1 canary-2 rest-1 rest-2 rest-3" },
  },
];

/** What becomes of components whose cluster or set goes. Spec: sets.md R11, 8. */
export const removalCases: readonly Case[] = [...unselected, ...shrinking, ...deletions];
