import type { StatusItem } from "../fleet/status-item.ts";
import type { RolloutItem, StageItem } from "../hub/rollout-item.ts";
import { nextVerbs, rolloutCommand } from "../hub/rollout-steps.ts";
import type { SetItem } from "../hub/set-view.ts";
import { shortNameOf } from "../output/names.ts";
import { withHub, words } from "../output/steps.ts";
import { clusterKey } from "./cluster-view.ts";
import type { PageStateName } from "./fleet-view.ts";
import type { Beginning, NextCommand } from "./installation-view.ts";

/** A part of a bar: clusters in one state. */
export interface BarPart {
  readonly title: string;
  readonly count: number;
  /** Of all clusters of the stage, 0 to 1. */
  readonly share: number;
  /** The state whose colour the part has; null for clusters that wait. */
  readonly tone: PageStateName | null;
}

/** A stage as a bar. */
export interface StageView {
  readonly stage: StageItem;
  readonly tone: PageStateName | null;
  /** The parts that have clusters, in the order in which clusters go through them. */
  readonly parts: readonly BarPart[];
  /** `verified 3 of 5`; null where nothing is asked. */
  readonly verified: string | null;
}

/** A cluster that needs attention. */
export interface NotableView {
  readonly cluster: string;
  /** The page of the cluster; null when no installation that is shown is for it. */
  readonly key: string | null;
  readonly tone: PageStateName;
  readonly state: string;
  readonly reason: string;
  readonly message: string;
}

/** The page of a fleet set. */
export interface SetView {
  readonly tone: PageStateName;
  readonly stages: readonly StageView[];
  readonly notable: readonly NotableView[];
  /** `12 clusters: 5 done, 1 failed`; null before a controller has counted. */
  readonly counts: string | null;
  readonly next: readonly NextCommand[];
}

const tones = { complete: "healthy", failed: "bad", incomplete: "progress" } as const;

/** The page of a rollout, with links to the clusters of these installations. */
export function setView(
  item: RolloutItem,
  items: readonly StatusItem[],
  beginning: Beginning,
): SetView {
  const keys = new Map(
    items.flatMap(({ cluster }) =>
      cluster === null ? [] : [[`${cluster.namespace}/${cluster.name}`, clusterKey(cluster)]],
    ),
  );
  return {
    tone: tones[item.outcome],
    stages: item.stages.map(stageViewOf),
    notable: item.notable.map((one) => ({
      ...one,
      key: keys.get(one.cluster) ?? null,
      tone: notableTones[one.state] ?? "bad",
    })),
    counts: countsOf(item),
    next: nextOf(item, beginning),
  };
}

const notableTones: Readonly<Record<string, PageStateName>> = {
  Verifying: "progress",
  Unreachable: "unreachable",
};

const stageTones: Readonly<Record<StageItem["state"], PageStateName | null>> = {
  Waiting: null,
  Rolling: "progress",
  Soaking: "progress",
  AwaitingApproval: "progress",
  Passed: "healthy",
  Empty: null,
  Halted: "bad",
};

function stageViewOf(stage: StageItem): StageView {
  const { state, verified, clusters } = stage;
  return {
    stage,
    tone: stageTones[state],
    parts: partsOf(stage),
    verified: verified === undefined ? null : `verified ${verified} of ${clusters}`,
  };
}

interface Counts {
  readonly clusters: number;
  readonly done: number;
  readonly failed: number;
  readonly updating?: number;
  readonly unreachable?: number;
}

function partsOf({
  clusters,
  done,
  failed,
  updating = 0,
  unreachable = 0,
}: Counts): readonly BarPart[] {
  const others = Math.max(0, clusters - done - updating - failed - unreachable);
  const parts = [
    { title: "done", count: done, tone: "healthy" },
    { title: "updating", count: updating, tone: "progress" },
    { title: "failed", count: failed, tone: "bad" },
    { title: "unreachable", count: unreachable, tone: "unreachable" },
    { title: "waiting", count: others, tone: null },
  ] as const;
  const all = parts.reduce((sum, { count }) => sum + count, 0);
  return parts
    .filter(({ count }) => count > 0)
    .map((part) => ({ ...part, share: part.count / all }));
}

/** A fleet set in the list of sets. */
export interface SetRow {
  readonly set: SetItem;
  readonly tone: PageStateName;
  readonly parts: readonly BarPart[];
}

const badPhases: readonly SetItem["phase"][] = ["Halted", "Blocked", "RollingBack", "RolledBack"];
const ranks: Readonly<Partial<Record<PageStateName, number>>> = { bad: 0, progress: 1 };

/** The sets, those that need a person first. */
export function setRows(sets: readonly SetItem[]): readonly SetRow[] {
  const rankOf = ({ tone }: SetRow): number => ranks[tone] ?? 2;
  return sets
    .map((set) => {
      const { phase, selected, done, failed } = set;
      const calm = phase === "Complete" ? "healthy" : "progress";
      const tone: PageStateName = badPhases.includes(phase) ? "bad" : calm;
      return { set, tone, parts: partsOf({ clusters: selected, done, failed }) };
    })
    .toSorted((one, other) => rankOf(one) - rankOf(other));
}

function countsOf({ clusters }: RolloutItem): string | null {
  if (clusters === null) return null;
  const { selected = 0, ...counts } = clusters;
  const parts = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`);
  const all = selected === 1 ? "1 cluster" : `${selected} clusters`;
  return parts.length === 0 ? all : `${all}: ${parts.join(", ")}`;
}

const whys = {
  approve: "Approve the stage",
  resume: "Go on",
  "accept-selection": "Accept that the set loses these clusters",
  verify: "Ask the checks now; the rollout goes on when they were good for five minutes",
  retry: "Try the failed clusters again",
  undo: "Go back to the revision before",
} as const;

/** What one may do: what gets the rollout going first. A bundle cannot be steered. */
function nextOf(item: RolloutItem, { knfleet, isRecorded }: Beginning): readonly NextCommand[] {
  const { kind, namespace, name, outcome, phase } = item;
  const of = (verb: string): string =>
    withHub(rolloutCommand(verb, { kind, namespace, name }), { kubectl: "kubectl", knfleet });
  const mayPause = outcome === "incomplete" && phase !== "Paused";
  const steering = [
    ...nextVerbs(item).map((verb) => ({ why: whys[verb], command: of(verb) })),
    ...(mayPause ? [{ why: "Start no further cluster", command: of("pause") }] : []),
  ];
  return [
    ...(isRecorded ? [] : steering),
    { why: "The same in a terminal", command: of("status") },
    {
      why: "Its installations",
      command: `${knfleet} ${words("status", "--set", shortNameOf(item), "-n", namespace)}`,
    },
  ];
}
