import type { ComponentKind } from "../../api/component.ts";
import { canonicalJson, isRecord } from "../../api/fields.ts";
import { setLabels, steering } from "../../api/fleet-set.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredEvent, StoredObject } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { profileOf, stampedAtOf } from "./component-facts.ts";
import { kinds, type SetRules, setKey, type StageBudgets } from "./components.ts";
import { FailureChecks } from "./failure-checks.ts";
import type { SimulatedFleet } from "./fleet.ts";
import type { Gate } from "./gate.ts";
import { type Memberships, type StageName, unheardMs } from "./memberships.ts";
import type { Users } from "./users.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface RolloutChecksOptions {
  readonly time: VirtualTime;
  readonly fleet: SimulatedFleet;
  readonly budgets: StageBudgets;
  readonly rules: SetRules;
  readonly users: readonly Users[];
  readonly gate: Gate;
  /** Whether something could not reach a cluster within so long. */
  readonly wasCutWithin: (cluster: SimulatedCluster, ms: number) => boolean;
  readonly memberships: Memberships;
  readonly onProblem: (text: string) => void;
}

/** A stamp of a cluster. */
interface Stamp {
  readonly profile: string;
  /** Kind and name of the set. */
  readonly set: string;
  readonly revision: string;
  readonly atMs: number;
  /** The cluster was ready since. */
  isReady: boolean;
  /** Somebody else has changed its spec since: it counts as done, and nothing is asked about it. */
  isDiverged: boolean;
}

/** The clocks of two machines differ by less. */
const skewMs = 3_000;
/** New controllers break workloads within so long after a stamp, or the rollout need not wait for it. A stage has to wait for more. */
const earlyMs = 25_000;

/** What a rollout may never do, seen from what it writes. */
export class RolloutChecks {
  readonly #options: RolloutChecksOptions;
  readonly #memberships: Memberships;
  readonly #failures: FailureChecks;
  /** By uid of the component: its last stamp. */
  readonly #stamps = new Map<string, Stamp>();
  /** Sets and revisions that were complete. */
  readonly #completed = new Set<string>();

  constructor(options: RolloutChecksOptions) {
    this.#options = options;
    this.#memberships = options.memberships;
    this.#failures = new FailureChecks(options);
    options.fleet.hub.store.listen((event) => this.#noteChange(event));
  }

  /** A component may be deleted, or its spec be changed without a new stamp. Users do both, without a request of a replica. */
  #noteChange({ type, object, before }: StoredEvent): void {
    const { uid } = object.metadata;
    const stamp = this.#stamps.get(uid);
    if (stamp === undefined) return;
    if (type === "DELETED") this.#stamps.delete(uid);
    else if (stampedAtOf(object) !== stampedAtOf(before)) return;
    else if (canonicalJson(object["spec"]) !== canonicalJson(before?.["spec"])) {
      stamp.isDiverged = true;
    }
  }

  /** A component was written, and is not gone. */
  onComponent(component: StoredObject, before: StoredObject | undefined, isReady: boolean): void {
    const { uid } = component.metadata;
    this.#checkStamp(component, before);
    const stamp = this.#stamps.get(uid);
    if (stamp !== undefined && isReady) stamp.isReady = true;
  }

  /** The hub was restored: what was stamped since was not. */
  onRestore(): void {
    this.#failures.onRestore();
    this.#stamps.clear();
    this.#completed.clear();
    for (const kind of kinds) {
      const set = this.#setOf(kind);
      if (set !== undefined) this.#noteComplete(set);
    }
  }

  /** The status of a set was written: it passes a stage only when nothing is wrong with its clusters. */
  onSet(set: StoredObject, before: StoredObject | undefined): void {
    const revision = String(valueAt(set, "status", "updateRevision"));
    const name = setName(set);
    for (const stage of ["canary", "rest"] as const) {
      const isPassed = stateOf(set, stage) === "Passed";
      const wasPassed = stateOf(before, stage) === "Passed" && isOf(before, revision);
      if (isPassed && !wasPassed) this.#checkUsers({ set: name, stage, revision }, "passes");
    }
    this.#failures.onSet(set, before);
    this.#noteComplete(set);
  }

  #noteComplete(set: StoredObject): void {
    if (valueAt(set, "status", "rollout", "phase") !== "Complete") return;
    this.#completed.add(`${setName(set)} ${String(valueAt(set, "status", "updateRevision"))}`);
  }

  /** A set stamps no more clusters at once than its stage allows, none of them twice, none that is held, and none of a stage that waits. */
  #checkStamp(component: StoredObject, before: StoredObject | undefined): void {
    const { labels = {}, uid, name } = component.metadata;
    const stampedAt = stampedAtOf(component);
    if (stampedAt === undefined || stampedAt === stampedAtOf(before)) return;
    const stage = labels[setLabels.stage] === "canary" ? "canary" : "rest";
    const set = `${labels[setLabels.kind]} ${labels[setLabels.set]}`;
    const revision = labels[setLabels.revision] ?? "";
    const profile = profileOf(component);
    if (revision === before?.metadata.labels?.[setLabels.revision]) {
      this.#checkRepeat(component, set, revision);
    }
    this.#failures.onStamp(component, set, revision);
    const atMs = this.#options.time.nowMs;
    this.#stamps.set(uid, { profile, set, revision, atMs, isReady: false, isDiverged: false });
    this.#checkBudget(set, stage);
    if (this.#memberships.isHeld(profile) && this.#memberships.isHeard(profile)) {
      this.#problem(`${name} is stamped while ${profile} is held`);
    }
    if (stage === "rest") this.#checkBegin({ set, stage: "canary", revision }, component);
  }

  /** The same revision again only after a user wanted it to be tried again, and only where it had not come to its end. */
  #checkRepeat(component: StoredObject, set: string, revision: string): void {
    const { uid, name } = component.metadata;
    const unknown = { profile: profileOf(component), atMs: -Infinity, isReady: false };
    const last = this.#stamps.get(uid) ?? unknown;
    if (this.#failures.mayRepeat(set, revision, last)) return;
    this.#problem(`${name} is stamped twice with revision ${revision}`);
  }

  #checkBudget(set: string, stage: StageName): void {
    const { rules, budgets, time } = this.#options;
    const budget = budgets[stage];
    const moving = [...this.#stamps.values()].filter(({ profile, isReady, ...stamp }) => {
      // A cluster that is held takes no slot; one that the user moves while it changes counts in its new stage.
      const isHeld = this.#memberships.mayBeHeld(profile);
      return (
        !isReady && stamp.set === set && !isHeld && this.#memberships.stageOf(profile) === stage
      );
    });
    // A cluster that has failed takes no slot, as long as it may fail. Nor does one that the set may not write to, because somebody has its fields.
    const failed = moving.filter(({ atMs, isDiverged }) => {
      return isDiverged || time.nowMs - atMs > rules.deadlineMs - skewMs;
    });
    if (moving.length - Math.min(failed.length, rules.maxFailures) <= budget) return;
    this.#problem(`${moving.length} clusters of stage ${stage} of ${set} change, ${budget} may`);
  }

  /** A cluster of the second stage gets a revision only after the first one. */
  #checkBegin(rollout: Rollout, { kind }: StoredObject): void {
    if (this.#options.fleet.hub.isRestoredWithin(unheardMs)) return;
    const { set: name, revision } = rollout;
    if (this.#completed.has(`${name} ${revision}`)) return;
    const profiles = this.#options.fleet.spokes.filter(
      (spoke) => !this.#memberships.isHeld(spoke.name),
    );
    const canaries = profiles.filter((spoke) => this.#memberships.stageOf(spoke.name) === "canary");
    // A stage without clusters is passed, and one that gets clusters later is not heard of at once.
    if (!canaries.some((spoke) => this.#memberships.isHeard(spoke.name))) return;
    const set = this.#setOf(kind);
    const approval = set?.metadata.annotations?.[`${steering.approve}canary-after`] ?? "";
    if (this.#options.rules.needsApproval && approval.split(" ")[0] !== revision) {
      this.#problem(`Stage rest of ${name} begins ${revision} without an approval`);
    }
    const isNoted = isOf(set, revision) && stateOf(set, "canary") === "Passed";
    if (!isNoted) this.#checkUsers(rollout, "leaves");
  }

  /** No stage is over while the users of one of its clusters have noticed the new revision. */
  #checkUsers({ set, stage, revision }: Rollout, what: string): void {
    const { rules, onProblem } = this.#options;
    if (!rules.verifies) return;
    const ill = this.#membersOf({ set, stage, revision }).flatMap((stamp) => {
      const found = this.#illOf(stamp);
      return found === undefined ? [] : `${stamp.profile} has ${found}`;
    });
    if (ill.length <= rules.maxFailures) return;
    onProblem(`${set} ${what} stage ${stage} with ${revision} while ${ill.join(" and ")}`);
  }

  /** The last stamps of the clusters that a stage has to wait for. */
  #membersOf({ set, stage, revision }: Rollout): readonly Stamp[] {
    return [...this.#stamps.values()].filter((stamp) => {
      const { profile } = stamp;
      const isOfIt = stamp.set === set && stamp.revision === revision;
      const isMember =
        this.#memberships.stageOf(profile) === stage && this.#memberships.isHeard(profile);
      return isOfIt && isMember && !stamp.isDiverged && !this.#memberships.isHeld(profile);
    });
  }

  /** What is wrong on a cluster since early after its stamp, or for long. */
  #illOf(stamp: Stamp): string | undefined {
    const { profile, atMs } = stamp;
    const users = this.#options.users.find(({ cluster }) => cluster.name === profile);
    const { nowMs } = this.#options.time;
    const isLong = (since: number): boolean => since < atMs + earlyMs || since < nowMs - unheardMs;
    const since = (users?.since("workload") ?? -Infinity) - skewMs;
    if (since > atMs && isLong(since)) return "a newly broken workload";
    const badSince = users?.since("measure");
    if (badSince !== undefined && isLong(badSince)) return "a bad measure";
    const silentSince = users?.since("silence");
    // Who has been asked once may be silent later.
    const isSilent = silentSince !== undefined && silentSince < atMs;
    return this.#gateOf(stamp, isLong) ?? (isSilent ? "a measure nobody says" : undefined);
  }

  /** What the gate has against a cluster. */
  #gateOf(stamp: Stamp, isLong: (since: number) => boolean): string | undefined {
    const { rules, gate, users } = this.#options;
    if (!rules.asksGate) return undefined;
    const deniedSince = users
      .find(({ cluster }) => cluster.name === stamp.profile)
      ?.since("denial");
    if (deniedSince !== undefined && isLong(deniedSince)) return "a denial";
    return gate.hasAllowed(stamp, stamp.atMs) ? undefined : "no word of the gate";
  }

  #setOf(kind: string): StoredObject | undefined {
    const componentKind: ComponentKind =
      kind === "KnativeServing" ? "KnativeServing" : "KnativeEventing";
    const { apiVersion, kind: setKind, ...metadata } = setKey(componentKind);
    return this.#options.fleet.hub.store.find({ apiVersion, kind: setKind, metadata });
  }

  #problem(text: string): void {
    this.#options.onProblem(text);
  }
}

interface Rollout {
  readonly set: string;
  readonly stage: StageName;
  readonly revision: string;
}

/** As the labels of a component name its set. */
function setName({ kind, metadata }: StoredObject): string {
  return `${kind} ${metadata.name}`;
}

function isOf(set: StoredObject | undefined, revision: string): boolean {
  return valueAt(set, "status", "updateRevision") === revision;
}

function stateOf(set: StoredObject | undefined, stage: StageName): unknown {
  const stages = valueAt(set, "status", "stages");
  return (Array.isArray(stages) ? stages : [])
    .filter(isRecord)
    .find(({ name }) => name === stage)?.["state"];
}
