import { revisionAnnotations, setLabels } from "../../api/fleet-set.ts";
import type { StoredEvent, StoredObject } from "../simulator/object-store.ts";
import { isComponent, isReady, profileOf } from "./component-facts.ts";
import { unheardMs } from "./memberships.ts";
import type { RolloutChecksOptions } from "./rollout-checks.ts";

/** By so much the wall clocks of two replicas differ, and a second because times are whole seconds. */
const clocksMs = 5_000;
/** A cluster that is not ready for less may be ready again before anybody looks. */
const momentMs = 10_000;

/** A rollout of a revision, from its beginning on. */
interface Rollout {
  /** Number of the revision, and when a user wanted it to be tried again. */
  readonly turn: string;
  readonly since: number;
  /** A backup of the hub had it, or knew nothing of it: not all of it was seen. */
  readonly isPartial: boolean;
  isComplete: boolean;
  hasRestBegun: boolean;
  /** Where components were stamped in the first stage. */
  readonly canaries: Set<string>;
}

/** How long a component was ready with its revision. */
interface Standing {
  readonly revision: string | undefined;
  isReady: boolean;
  changedAt: number;
  /** Since when it is ready, but for moments; undefined: it was not yet. */
  wholeSince: number | undefined;
  longestMs: number;
}

/** What the first stage of a set has to show before the last one begins, by what is stored. */
export class StageChecks {
  readonly #options: RolloutChecksOptions;
  /** By name of the revision. */
  readonly #rollouts = new Map<string, Rollout>();
  /** By kind and cluster of the component. */
  readonly #standings = new Map<string, Standing>();

  constructor(options: RolloutChecksOptions) {
    this.#options = options;
    options.fleet.hub.store.listen((event) => this.#take(event));
  }

  /** The hub was restored: the rollouts that it has now are not seen from their beginning. */
  onRestore(): void {
    this.#rollouts.clear();
    this.#standings.clear();
    for (const object of this.#options.fleet.hub.store.everything()) {
      this.#take({ type: "ADDED", object });
    }
  }

  /** Something changed on the hub. */
  #take({ type, object }: Pick<StoredEvent, "type" | "object">): void {
    if (object.kind === "ControllerRevision") this.#takeRevision(object);
    if (!isComponent(object) || revisionIn(object) === undefined) return;
    this.#takeComponent(object, type === "DELETED");
  }

  #takeRevision({ metadata, ...object }: StoredObject): void {
    const { name, annotations, labels } = metadata;
    const number = object["revision"];
    const turn = `${String(number)} ${annotations?.[revisionAnnotations.retriedAt] ?? ""}`;
    const isComplete = annotations?.[revisionAnnotations.completed] === String(number);
    const known = this.#rollouts.get(name);
    if (known !== undefined && known.turn === turn) {
      const component = labels?.[setLabels.kind]?.replace(/Set$/, "") ?? "";
      if (isComplete && !known.isComplete) this.#checkEnd(component, name, known);
      known.isComplete = isComplete;
    } else {
      const { time, fleet } = this.#options;
      const rollout = {
        turn,
        since: time.nowMs,
        isPartial: fleet.hub.isRestoredWithin(unheardMs),
        isComplete,
        hasRestBegun: false,
        canaries: new Set<string>(),
      };
      this.#rollouts.set(name, rollout);
    }
  }

  #takeComponent(component: StoredObject, isGone: boolean): void {
    const place = placeOf(component.kind, profileOf(component));
    const revision = revisionIn(component);
    const before = this.#standings.get(place);
    const isStamped = before?.revision !== revision;
    const standing = before === undefined || isStamped ? this.#unready(revision) : before;
    this.#standings.set(place, standing);
    this.#turn(standing, !isGone && isReady(component));
    const rollout = this.#rollouts.get(revision ?? "");
    if (!isStamped || rollout === undefined || rollout.isComplete) return;
    const isCanary = component.metadata.labels?.[setLabels.stage] === "canary";
    if (isCanary) rollout.canaries.add(place);
    else if (!rollout.hasRestBegun) this.#checkBegin(component, rollout);
  }

  #unready(revision: string | undefined): Standing {
    const { nowMs: changedAt } = this.#options.time;
    return { revision, isReady: false, changedAt, wholeSince: undefined, longestMs: 0 };
  }

  #turn(standing: Standing, isReadyNow: boolean): void {
    const { nowMs } = this.#options.time;
    if (standing.isReady === isReadyNow) return;
    const { wholeSince, changedAt } = standing;
    if (!isReadyNow) standing.longestMs = wholeMs(standing, nowMs);
    else if (wholeSince === undefined || nowMs - changedAt > momentMs) standing.wholeSince = nowMs;
    standing.isReady = isReadyNow;
    standing.changedAt = nowMs;
  }

  /** A rollout is complete: each cluster that was there from its beginning had to be ready. */
  #checkEnd(kind: string, revision: string, rollout: Rollout): void {
    if (rollout.isPartial) return;
    const unready = this.#options.fleet.spokes.flatMap(({ name }) => {
      const standing = this.#standings.get(placeOf(kind, name));
      const isOf = standing?.revision === revision;
      const isFine = this.#hasJoined(name, rollout) || (isOf && standing.wholeSince !== undefined);
      return isFine ? [] : name;
    });
    // As many may fail in each of two stages.
    if (unready.length <= 2 * this.#options.rules.maxFailures) return;
    this.#options.onProblem(`${kind}Set is complete though ${unready.join(", ")} was never ready`);
  }

  /** Whether a rollout does not wait for a cluster: it is held, or came to its stage late. */
  #hasJoined(name: string, { since }: Rollout): boolean {
    const { memberships } = this.#options;
    return memberships.isHeld(name) || !memberships.isHeard(name, since);
  }

  /** The last stage begins: the first one has to be proven. */
  #checkBegin(first: StoredObject, rollout: Rollout): void {
    rollout.hasRestBegun = true;
    if (rollout.isPartial) return;
    const { time, fleet, memberships, rules, onProblem } = this.#options;
    const begins = `Stage rest of ${first.kind} begins with ${first.metadata.name}`;
    const members = fleet.spokes.filter(({ name }) => memberships.stageOf(name) === "canary");
    const unproven = members.flatMap(({ name }) => {
      if (this.#hasJoined(name, rollout)) return [];
      const standing = this.#standings.get(placeOf(first.kind, name));
      if (standing?.revision !== revisionIn(first) || standing?.wholeSince === undefined) {
        return `${begins} while ${name} of stage canary was never ready`;
      }
      if (wholeMs(standing, time.nowMs) >= rules.soakMs - clocksMs) return [];
      return `${begins} when ${name} of stage canary was ready for too short a time`;
    });
    if (unproven.length > rules.maxFailures) for (const text of unproven) onProblem(text);
    const isProven = [...rollout.canaries].some(
      (place) => this.#standings.get(place)?.wholeSince !== undefined,
    );
    if (members.length > 0 || rollout.canaries.size === 0 || isProven) return;
    onProblem(`${begins} though no cluster of stage canary was ever ready`);
  }
}

function placeOf(kind: string, profile: string): string {
  return `${kind} ${profile}`;
}

/** The longest time in which it was ready, but for moments. */
function wholeMs(
  { isReady: isReadyNow, changedAt, wholeSince, longestMs }: Standing,
  nowMs: number,
): number {
  if (wholeSince === undefined) return longestMs;
  return Math.max(longestMs, (isReadyNow ? nowMs : changedAt) - wholeSince);
}

function revisionIn({ metadata }: StoredObject): string | undefined {
  return metadata.labels?.[setLabels.revision];
}
