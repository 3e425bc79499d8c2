import { deliveryAnnotation } from "../../api/delivery.ts";
import { isRecord } from "../../api/fields.ts";
import { revisionAnnotations, setLabels, steering } from "../../api/fleet-set.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { isComponent, isReady, profileOf } from "./component-facts.ts";
import { unheardMs } from "./memberships.ts";
import type { RolloutChecksOptions } from "./rollout-checks.ts";

/** What a check found wrong has to be well for five minutes before the cluster counts as well again. */
const mendedMs = 300_000;

/** When the soak of a stage began, as the status says, and when that was stored. */
interface Soak {
  readonly doneAt: string;
  readonly storedAt: number;
}

/** What a rollout does about clusters that fail: it halts for a reason, goes back only to what was complete, and tries again when a user wants that. */
export class FailureChecks {
  readonly #options: RolloutChecksOptions;
  /** By set and revision: when a user last wanted it to be tried again. */
  readonly #retriedAt = new Map<string, number>();
  /** By cluster: when its labels were changed last, or a component there was not ready. */
  readonly #movedAt = new Map<string, number>();
  /** By kind and cluster: the delivery that a user wants for the component, and when it was changed last. */
  readonly #deliveries = new Map<string, { readonly wanted: string; readonly atMs: number }>();
  /** By set, revision and stage. */
  readonly #soaks = new Map<string, Soak>();

  constructor(options: RolloutChecksOptions) {
    this.#options = options;
    const { fleet, time } = options;
    fleet.hub.store.listen(({ object }) => {
      const retried = object.metadata.annotations?.[steering.retry];
      if (retried !== undefined) this.#retriedAt.set(`${nameOf(object)} ${retried}`, time.nowMs);
      if (object.kind === "ClusterProfile") this.#movedAt.set(object.metadata.name, time.nowMs);
      if (!isComponent(object)) return;
      if (!isReady(object)) this.#movedAt.set(profileOf(object), time.nowMs);
      this.#noteDelivery(object);
    });
  }

  onRestore(): void {
    this.#soaks.clear();
  }

  /** Whether a cluster may get a revision again that it got at a time: it was not ready with it or had trouble since, and a user wants it to be tried again. */
  mayRepeat(set: string, revision: string, { profile, atMs, isReady: wasReady }: Last): boolean {
    const retriedAt = this.#retriedAt.get(`${set} ${revision}`) ?? -Infinity;
    return retriedAt > atMs && (!wasReady || this.#hadTrouble(this.#spokeOf(profile), atMs));
  }

  /** The status of a set was written. */
  onSet(set: StoredObject, before: StoredObject | undefined): void {
    if (this.#options.fleet.hub.isRestoredWithin(unheardMs)) return;
    const isSame = revisionOf(set) === revisionOf(before);
    for (const stage of stagesOf(set)) {
      const known = stagesOf(before).find(({ name }) => name === stage["name"]);
      const wasHalted = isSame && known?.["state"] === "Halted";
      if (stage["state"] === "Halted" && !wasHalted) this.#checkHalt(set, stage);
      this.#checkSoak(set, stage);
    }
  }

  /** A component was stamped with a revision. */
  onStamp({ metadata: { name, labels } }: StoredObject, set: string, revision: string): void {
    const { hub } = this.#options.fleet;
    if (hub.isRestoredWithin(unheardMs)) return;
    const revisions = [...hub.store.all("apps/ControllerRevision")]
      .filter(({ metadata }) => metadata.labels?.[setLabels.kind] === labels?.[setLabels.kind])
      .toSorted((one, other) => Number(other["revision"]) - Number(one["revision"]));
    const own = revisions.find(({ metadata }) => metadata.name === revision);
    const { [revisionAnnotations.failedAt]: failedAt, [revisionAnnotations.completed]: completed } =
      own?.metadata.annotations ?? {};
    const what = `${name} is stamped with ${revision}`;
    if (failedAt !== undefined) this.#problem(`${what}, which ${set} has given up`);
    if (own !== revisions[0] && completed === undefined) {
      this.#problem(`${what}, which is neither the newest revision nor was ever complete`);
    }
  }

  /** A stage halts because more clusters than it allows had trouble lately. */
  #checkHalt(set: StoredObject, stage: Stage): void {
    const { fleet, rules, time } = this.#options;
    const sinceMs = time.nowMs - mendedMs - unheardMs;
    const { length } = fleet.spokes.filter((spoke) => this.#hadTrouble(spoke, sinceMs));
    if (length > rules.maxFailures) return;
    const had = `${length} clusters had trouble, ${rules.maxFailures} may`;
    this.#problem(`Stage ${String(stage["name"])} of ${nameOf(set)} halts though ${had}`);
  }

  /** A soak begins anew only when something has changed since it began: a cluster that is bad now and then counts once. */
  #checkSoak(set: StoredObject, { name, doneAt, state }: Stage): void {
    const what = `${nameOf(set)} ${revisionOf(set)} ${String(name)}`;
    const { fleet, time } = this.#options;
    const soak = this.#soaks.get(what);
    if (typeof doneAt !== "string") this.#soaks.delete(what);
    else if (doneAt !== soak?.doneAt) this.#soaks.set(what, { doneAt, storedAt: time.nowMs });
    if (soak === undefined || soak.doneAt === doneAt || state === "Halted") return;
    const sinceMs = soak.storedAt - unheardMs;
    const retriedAt = this.#retriedAt.get(`${nameOf(set)} ${revisionOf(set)}`) ?? -Infinity;
    if (retriedAt > sinceMs || fleet.spokes.some((spoke) => this.#hasChanged(spoke, sinceMs)))
      return;
    this.#problem(`The soak of ${what} begins anew though nothing has changed`);
  }

  #hasChanged(spoke: SimulatedCluster, sinceMs: number): boolean {
    const { users, time } = this.#options;
    const movedAt = this.#movedAt.get(spoke.name) ?? -Infinity;
    const hasBegun = users.some((one) => one.cluster === spoke && one.begunAt > sinceMs);
    return movedAt > sinceMs || hasBegun || this.#wasCut(spoke, time.nowMs - sinceMs);
  }

  /** Whether a cluster may have failed since a time. */
  #hadTrouble(spoke: SimulatedCluster | undefined, sinceMs: number): boolean {
    if (spoke === undefined) return false;
    const { users, time, rules } = this.#options;
    const ms = time.nowMs - sinceMs;
    const wasIll = users.some((one) => one.cluster === spoke && one.wasIllWithin(ms));
    // On its way from one delivery to the other an installation has two owners for a moment.
    const kinds = ["KnativeServing", "KnativeEventing"];
    const wasMoved = kinds.some(
      (kind) => (this.#deliveries.get(`${kind} ${spoke.name}`)?.atMs ?? -Infinity) > sinceMs,
    );
    // A cluster that nobody reaches cannot be asked, and fails by its deadline.
    return wasIll || wasMoved || (rules.deadlineMs !== Infinity && this.#wasCut(spoke, ms));
  }

  #noteDelivery(component: StoredObject): void {
    const name = `${component.kind} ${profileOf(component)}`;
    const wanted = component.metadata.annotations?.[deliveryAnnotation] ?? "";
    const known = this.#deliveries.get(name);
    if (known?.wanted === wanted) return;
    const atMs = known === undefined ? -Infinity : this.#options.time.nowMs;
    this.#deliveries.set(name, { wanted, atMs });
  }

  #wasCut(spoke: SimulatedCluster, ms: number): boolean {
    return spoke.isRestoredWithin(ms) || this.#options.wasCutWithin(spoke, ms);
  }

  #spokeOf(profile: string): SimulatedCluster | undefined {
    return this.#options.fleet.spokes.find(({ name }) => name === profile);
  }

  #problem(text: string): void {
    this.#options.onProblem(text);
  }
}

/** The last stamp of a component. */
interface Last {
  readonly profile: string;
  readonly atMs: number;
  readonly isReady: boolean;
}

type Stage = Readonly<Record<string, unknown>>;

function stagesOf(set: StoredObject | undefined): readonly Stage[] {
  const stages = valueAt(set, "status", "stages");
  return (Array.isArray(stages) ? stages : []).filter(isRecord);
}

function revisionOf(set: StoredObject | undefined): string {
  return String(valueAt(set, "status", "updateRevision"));
}

function nameOf({ kind, metadata }: StoredObject): string {
  return `${kind} ${metadata.name}`;
}
