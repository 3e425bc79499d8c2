import type { ComponentKind } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import { revisionAnnotations, setLabels, steering } from "../../api/fleet-set.ts";
import { keyOf } from "../../api/kubernetes.ts";
import { pinnedContent } from "../../sets/content.ts";
import { revisionOf } from "../../sets/revision-object.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { isComponent, stampedAtOf } from "./component-facts.ts";
import { setKey } from "./components.ts";
import type { LifeEvent } from "./scenario.ts";

const failedPhases = ["Halted", "RollingBack", "RolledBack"];
const overPhases = ["Complete", "RolledBack"];

/** How users steer the rollouts of a hub: with what `kubectl knfleet rollout` writes, and when it does. */
export class Steers {
  readonly #hub: SimulatedCluster;
  readonly #kinds: readonly ComponentKind[];
  readonly #note: (text: string) => void;

  constructor(
    hub: SimulatedCluster,
    kinds: readonly ComponentKind[],
    note: (text: string) => void,
  ) {
    this.#hub = hub;
    this.#kinds = kinds;
    this.#note = note;
  }

  sets(): readonly StoredObject[] {
    return this.#kinds.flatMap((kind) => {
      const key = setKey(kind);
      return this.#hub.store.find({ ...key, metadata: key }) ?? [];
    });
  }

  pause(kind: ComponentKind | undefined, paused: boolean, isBySpec: boolean): void {
    if (kind === undefined) return;
    const key = setKey(kind);
    this.#note(`the user ${paused ? "pauses" : "resumes"} ${key.kind} ${key.name}`);
    const annotations = { [steering.pause]: paused ? "as the user wants" : null };
    const patch = isBySpec ? { spec: { rollout: { paused } } } : { metadata: { annotations } };
    this.#hub.patch(key, patch);
  }

  /** Approves what waits for it, by what the sets say. */
  approve(): void {
    for (const set of this.sets()) {
      const { phase, revision } = rolloutOf(set);
      if (phase !== "AwaitingApproval") continue;
      this.#annotate(set, `approves ${revision}`, {
        [`${steering.approve}canary-after`]: `${revision} somebody`,
      });
    }
  }

  /** Tries every revision again that has failed, by what the sets say. Returns whether there is one. */
  retry(): boolean {
    let isTried = false;
    for (const set of this.sets()) {
      const { phase, revision } = rolloutOf(set);
      const failed = valueAt(set, "status", "clusters", "failed");
      const hasFailed = failedPhases.includes(phase) || (typeof failed === "number" && failed > 0);
      if (!isObserved(set) || !hasFailed) continue;
      this.#annotate(set, `tries ${revision} again`, { [steering.retry]: revision });
      isTried = true;
    }
    return isTried;
  }

  /** Ends a rollout that is not over. */
  abort(die: number): void {
    const sets = this.sets();
    const set = sets[Math.floor(die * sets.length)];
    if (set === undefined) return;
    const { phase, revision } = rolloutOf(set);
    if (!isObserved(set) || overPhases.includes(phase)) return;
    this.#annotate(set, `aborts ${revision}`, { [steering.abort]: `${revision} enough` });
  }

  /** Goes back to an earlier revision of a set: most often the one before that was completed last. */
  undo([first, second, third]: LifeEvent["dice"]): void {
    const sets = this.sets();
    const set = sets[Math.floor(first * sets.length)];
    if (set === undefined) return;
    const { revision: current } = rolloutOf(set);
    const others = [...this.#hub.store.all("apps/ControllerRevision")]
      .filter(({ metadata: { labels } }) => labels?.[setLabels.kind] === set.kind)
      .filter(({ metadata }) => metadata.name !== current)
      .toSorted((one, other) => completedOf(other) - completedOf(one));
    const [last] = others;
    const object = second < 0.7 ? last : others[Math.floor(third * others.length)];
    const revision = object && revisionOf(object);
    if (revision === undefined) return;
    const { template } = pinnedContent(revision.content);
    this.#note(`the user goes back to ${revision.name}`);
    const spec = valueAt(set, "spec");
    this.#hub.put({ ...set, spec: { ...(isRecord(spec) ? spec : {}), template } });
  }

  /** Calls once, when a set stamps a component. */
  onNextStamp(listener: () => void): void {
    const stamps = new Map<string, string | undefined>();
    for (const object of this.#hub.store.everything()) {
      if (isComponent(object)) stamps.set(object.metadata.uid, stampedAtOf(object));
    }
    const listening = this.#hub.store.listen(({ type, object }) => {
      const { uid } = object.metadata;
      if (type === "DELETED" || !isComponent(object)) return;
      if (stampedAtOf(object) === undefined || stampedAtOf(object) === stamps.get(uid)) return;
      listening[Symbol.dispose]();
      listener();
    });
  }

  #annotate(set: StoredObject, what: string, annotations: Readonly<Record<string, string>>): void {
    this.#note(`the user ${what} ${set.kind} ${set.metadata.name}`);
    this.#hub.patch(keyOf(set), { metadata: { annotations } });
  }
}

/** The phase of a set and the revision that it is about. */
function rolloutOf(set: StoredObject): { readonly phase: string; readonly revision: string } {
  return {
    phase: String(valueAt(set, "status", "rollout", "phase")),
    revision: String(valueAt(set, "status", "updateRevision")),
  };
}

function isObserved(set: StoredObject): boolean {
  return valueAt(set, "status", "observedGeneration") === set.metadata.generation;
}

/** The place of a revision among those that were completed; 0: it never was. */
function completedOf({ metadata }: StoredObject): number {
  return Number(metadata.annotations?.[revisionAnnotations.completed] ?? 0);
}
