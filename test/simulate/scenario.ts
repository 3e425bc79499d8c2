import type { SetRules, StageBudgets } from "./components.ts";
import { Random } from "./random.ts";

const deeds = [
  "create",
  "version",
  "config",
  "delete",
  "move",
  "hold",
  "pause",
  "approve",
  "ill",
  "drift",
  "pin",
  "retry",
  "undo",
  "abort",
  "waver",
] as const;

/** What users do, and others on the spokes. */
export type DeedKind = (typeof deeds)[number];

/** What goes wrong. */
export type TroubleKind =
  | "weather"
  | "cut"
  | "cutSpoke"
  | "watchEnd"
  | "kill"
  | "restart"
  | "freeze"
  | "restore"
  | "expire"
  | "reshard";

type LifeKind = DeedKind | TroubleKind;

/** One event. Which component, cluster or replica it means follows from its dice and what is there by then. */
export interface LifeEvent {
  readonly atMs: number;
  readonly kind: LifeKind;
  /** Numbers in [0, 1). */
  readonly dice: readonly [number, number, number];
}

/** Everything that a seed decides before the run begins. */
export interface Scenario {
  readonly seed: number;
  readonly spokes: number;
  readonly replicas: number;
  /** Into how many parts the replicas divide the fleet at the beginning. */
  readonly shards: number;
  /** Users steer their rollouts, and more is wrong with them. */
  readonly isWorse: boolean;
  /** So many of the spokes are in the first stage of sets at the beginning. */
  readonly canaries: number;
  /** How many clusters of a stage of a set may change at the same time. */
  readonly budgets: StageBudgets;
  /** Kinds of components that a set rolls out. */
  readonly sets: readonly ("KnativeServing" | "KnativeEventing")[];
  readonly rules: SetRules;
  readonly events: readonly LifeEvent[];
}

/** Rollouts that wait for nothing. */
export const plainRules: SetRules = {
  needsApproval: false,
  verifies: false,
  asksGate: false,
  minReadySeconds: 0,
  soakMs: 0,
  maxFailures: 0,
  deadlineMs: Infinity,
  goesBack: false,
};

type Weights = Readonly<Partial<Record<LifeKind, number>>>;

/** The life of a fleet, in ms; after it nothing goes wrong any more. */
export const lifeMs = 20 * 60_000;
const weights = {
  create: 8,
  version: 6,
  config: 6,
  delete: 3,
  move: 2,
  hold: 2,
  pause: 1,
  approve: 2,
  ill: 1,
  drift: 5,
  weather: 4,
  cut: 2,
  cutSpoke: 2,
  watchEnd: 3,
  kill: 2,
  restart: 1,
  freeze: 2,
  restore: 1,
  expire: 1,
  reshard: 1,
} satisfies Weights;

/** In worse lives, these besides. */
const worseWeights = { pin: 2, retry: 1, undo: 1, abort: 1, waver: 3 } satisfies Weights;

/** Where rollouts ask the users, many of these are not content with an upgrade. */
const verifyingWeights = { version: 10, ill: 12 };

export interface ScenarioOptions {
  /** Numbers of events that are left out. */
  readonly dropped?: ReadonlySet<number>;
  /** Worse lives are other ones than those of the same seed without it. */
  readonly isWorse?: boolean;
}

/** The scenario of a seed. */
export function scenarioOf(
  seed: number,
  { dropped = new Set(), isWorse = false }: ScenarioOptions = {},
): Scenario {
  const random = new Random(seed);
  const spokes = random.whole(1, 5);
  const replicas = random.whole(1, 3);
  const budgets = { canary: 1, rest: random.whole(1, 2) };
  const sets = (["KnativeEventing", "KnativeServing"] as const).filter(() => random.isHit(0.45));
  const usualRules = {
    ...plainRules,
    needsApproval: random.isHit(0.4),
    verifies: random.isHit(0.5),
    minReadySeconds: random.pick([0, 0, 20]),
    soakMs: random.pick([0, 30_000, 60_000]),
  };
  const rules = isWorse ? worseRules(usualRules, random) : usualRules;
  const canaries = isWorse ? random.pick([1, 1, 2]) : 1;
  const shards = random.pick([1, 1, 1, 2, 3]);
  const events = Array.from({ length: random.whole(8, 24) }, () =>
    eventOf(random, weightsOf(rules, isWorse)),
  )
    .toSorted((one, other) => one.atMs - other.atMs)
    .filter((_, index) => !dropped.has(index));
  return { seed, spokes, replicas, shards, isWorse, canaries, budgets, sets, rules, events };
}

function worseRules(rules: SetRules, random: Random): SetRules {
  return {
    ...rules,
    asksGate: random.isHit(0.6),
    maxFailures: random.pick([0, 0, 1]),
    deadlineMs: random.pick([Infinity, 360_000]),
    goesBack: random.isHit(0.4),
  };
}

function weightsOf({ verifies }: SetRules, isWorse: boolean): Weights {
  return {
    ...weights,
    ...(isWorse && worseWeights),
    ...(verifies && verifyingWeights),
    ...(verifies && isWorse && { retry: 3 }),
  };
}

function eventOf(random: Random, chances: Weights): LifeEvent {
  // Half of them come close together, where they meet.
  const atMs = random.isHit(0.5) ? random.between(0, lifeMs / 6) : random.between(0, lifeMs);
  const dice = [random.next(), random.next(), random.next()] as const;
  return { atMs, kind: kindOf(random, chances), dice };
}

function kindOf(random: Random, chances: Weights): LifeKind {
  const kinds = Object.entries(chances);
  let left = random.next() * kinds.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [kind, weight] of kinds) {
    left -= weight;
    if (left < 0 && isLifeKind(kind)) return kind;
  }
  return "watchEnd";
}

export function isDeed(kind: LifeKind): kind is DeedKind {
  return deeds.some((deed) => deed === kind);
}

function isLifeKind(text: string): text is LifeKind {
  return text in weights || text in worseWeights;
}
