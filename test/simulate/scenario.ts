import type { SetRules, StageBudgets } from "./components.ts";
import type { Pulling } from "./fleet.ts";
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
  "deliver",
  "loseWork",
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
  | "reshard"
  | "silence";

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
  /** Those to which Open Cluster Management may bring components. */
  readonly pull: Pulling;
  readonly replicas: number;
  /** Into how many parts the replicas divide the fleet at the beginning. */
  readonly shards: number;
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
export const mostSpokes = 5;
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
  pin: 2,
  retry: 1,
  undo: 1,
  abort: 1,
  waver: 3,
} satisfies Weights;

/** What lives are drawn towards, each with chances of its own in place of the usual ones: what is rare alone meets there. */
const themes = {
  usual: {},
  rollouts: { waver: 10, abort: 5, undo: 3, retry: 3, version: 8, create: 3, delete: 1 },
  failures: { version: 10, ill: 16, retry: 8, waver: 3, create: 3, delete: 1 },
  removals: { create: 16, delete: 12, pin: 12, version: 3, config: 3 },
} satisfies Readonly<Record<string, Weights>>;

type Theme = keyof typeof themes;

/** Where works bring components, these besides. Nobody plays what Open Cluster Management does about restored clusters. */
const pullWeights = { create: 12, loseWork: 2, silence: 4, restore: 0 } satisfies Weights;
const movingWeights = {
  ...pullWeights,
  deliver: 34,
  cutSpoke: 12,
  delete: 6,
  drift: 12,
} satisfies Weights;

/** Where rollouts ask the users, many of these are not content with an upgrade. */
const verifyingWeights = { version: 10, ill: 12, retry: 3 };

export interface ScenarioOptions {
  /** Numbers of events that are left out. */
  readonly dropped?: ReadonlySet<number>;
}

/** The scenario of a seed. */
export function scenarioOf(seed: number, { dropped = new Set() }: ScenarioOptions = {}): Scenario {
  const random = new Random(seed);
  const theme: Theme = random.pick(["usual", "usual", "rollouts", "failures", "removals"]);
  const isRolled = theme === "rollouts" || theme === "failures";
  const spokes = random.whole(isRolled ? 3 : 1, mostSpokes);
  const pull = pullingOf(random, spokes);
  const replicas = random.whole(1, 3);
  const budgets = { canary: 1, rest: isRolled ? 1 : random.whole(1, 2) };
  const sets = setsOf(random, isRolled);
  const rules = theme === "failures" ? failureRules(random) : usualRules(random);
  const canaries = random.pick(isRolled ? [1, 2, 2] : [1, 1, 2]);
  const shards = random.pick([1, 1, 1, 2, 3]);
  const chances = {
    ...weights,
    ...(rules.verifies && verifyingWeights),
    ...themes[theme],
    ...pullWeightsOf(pull),
  };
  const events = Array.from({ length: random.whole(8, 24) }, () => eventOf(random, chances))
    .toSorted((one, other) => one.atMs - other.atMs)
    .filter((_, index) => !dropped.has(index));
  return { seed, spokes, pull, replicas, shards, canaries, budgets, sets, rules, events };
}

function setsOf(random: Random, isThere: boolean): Scenario["sets"] {
  const sets = (["KnativeEventing", "KnativeServing"] as const).filter(() => random.isHit(0.45));
  return isThere && sets.length === 0 ? ["KnativeEventing"] : sets;
}

function usualRules(random: Random): SetRules {
  return {
    needsApproval: random.isHit(0.4),
    verifies: random.isHit(0.4),
    asksGate: random.isHit(0.6),
    minReadySeconds: random.pick([0, 0, 20]),
    soakMs: random.pick([0, 30_000, 60_000]),
    maxFailures: random.pick([0, 0, 1]),
    deadlineMs: random.pick([Infinity, 360_000]),
    goesBack: random.isHit(0.4),
  };
}

/** Rollouts that ask the users and may fail. */
function failureRules(random: Random): SetRules {
  return {
    ...usualRules(random),
    needsApproval: random.isHit(0.2),
    verifies: true,
    asksGate: random.isHit(0.7),
    soakMs: random.pick([0, 60_000, 120_000]),
    maxFailures: random.pick([0, 1, 1]),
    goesBack: random.isHit(0.5),
  };
}

/** In most fleets there is no cluster that pulls: each needs a controller of its own, which takes time. */
function pullingOf(random: Random, spokes: number): Pulling {
  const [isThere, isDialled] = [random.isHit(0.3), random.isHit(0.6)];
  return { spokes: isThere ? Math.min(spokes, random.whole(1, 2)) : 0, isDialled };
}

function pullWeightsOf({ spokes, isDialled }: Pulling): Weights {
  if (spokes === 0) return {};
  return isDialled ? movingWeights : pullWeights;
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
  return text in weights || text in movingWeights;
}
