import type { Clock } from "../../access/time/clock.ts";
import { timestampOf } from "../../api/conditions.ts";
import type { OwnerReference } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import { kindIdOf, type ObjectStore, type StoredObject } from "./object-store.ts";

/** Pods that cannot start try again after so long. */
const stuckMs = 5_000;
const workloads: readonly string[] = ["Deployment", "StatefulSet", "DaemonSet"];

/** Plays the controllers of a cluster on one virtual spoke: status of workloads, Jobs, definitions and namespaces, and the garbage collector. */
export class VirtualControllers implements Disposable {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #availableAfterMs: () => number;
  readonly #mayStart: () => boolean;
  readonly #timers = new Set<Disposable>();
  readonly #listening: Disposable;

  /** `availableAfterMs`: how long pods take to start; `mayStart`: whether they can now, default: always. */
  constructor(
    store: ObjectStore,
    clock: Clock,
    availableAfterMs: () => number,
    mayStart: () => boolean = () => true,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#availableAfterMs = availableAfterMs;
    this.#mayStart = mayStart;
    this.#listening = store.listen(({ type, object }) => {
      if (type === "DELETED") this.#collect(object);
      else this.#settle(object);
    });
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    for (const timer of this.#timers) timer[Symbol.dispose]();
  }

  #settle(object: StoredObject): void {
    const { kind, metadata } = object;
    if (metadata.ownerReferences?.some((owner) => !this.#isThere(owner, object)) === true) {
      this.#later(0, () => this.#collectOrphan(object));
    }
    const observed = valueAt(object, "status", "observedGeneration");
    if (workloads.includes(kind) && observed !== metadata.generation) {
      return this.#startPods(object, this.#availableAfterMs());
    }
    if (kind === "Job" && object["status"] === undefined) {
      return this.#later(this.#availableAfterMs(), () =>
        this.#make(object, (_, time) => completeStatus(time)),
      );
    }
    if (kind === "CustomResourceDefinition" && object["status"] === undefined) {
      this.#later(0, () => this.#make(object, (_, time) => establishedStatus(time)));
    }
  }

  #startPods(object: StoredObject, ms: number): void {
    this.#later(ms, () => {
      if (this.#mayStart()) this.#make(object, availableStatus);
      else this.#startPods(object, stuckMs);
    });
  }

  /** Writes a status, if the object is still the one that it is for. */
  #make(object: StoredObject, statusOf: (live: StoredObject, time: string) => object): void {
    const live = this.#store.find(object);
    if (live?.metadata.uid !== object.metadata.uid) return;
    this.#store.put({ ...live, status: statusOf(live, this.#time()) });
  }

  /** What a deleted object owned goes, too, and what was in a deleted namespace or of a deleted kind. */
  #collect({ kind, metadata, ...content }: StoredObject): void {
    const isOwned = ({ metadata: { ownerReferences = [] } }: StoredObject): boolean =>
      ownerReferences.some(({ uid }) => uid === metadata.uid);
    const definedKind = String(valueAt(content, "spec", "names", "kind"));
    const isIn = (object: StoredObject): boolean =>
      (kind === "Namespace" && object.metadata.namespace === metadata.name) ||
      (kind === "CustomResourceDefinition" && object.kind === definedKind);
    this.#later(0, () => {
      for (const object of Iterator.from(this.#store.everything()).toArray()) {
        if (isOwned(object)) this.#collectOrphan(object);
        else if (isIn(object)) this.#store.remove(object, this.#time());
      }
    });
  }

  /** What has owners and none of them is there goes; what has others keeps those. */
  #collectOrphan(object: StoredObject): void {
    const live = this.#store.find(object);
    if (live?.metadata.uid !== object.metadata.uid) return;
    const { ownerReferences = [] } = live.metadata;
    const owners = ownerReferences.filter((owner) => this.#isThere(owner, live));
    if (owners.length === ownerReferences.length) return;
    if (owners.length === 0) return this.#store.remove(live, this.#time());
    this.#store.put({ ...live, metadata: { ...live.metadata, ownerReferences: owners } });
  }

  /** Whether an owner is there: in the namespace of what it owns, or in none. */
  #isThere(owner: OwnerReference, { metadata: { namespace = "" } }: StoredObject): boolean {
    return [namespace, ""].some((place) => {
      const found = this.#store.get(kindIdOf(owner), `${place}/${owner.name}`);
      return found?.metadata.uid === owner.uid;
    });
  }

  #time(): string {
    return timestampOf(this.#clock.date());
  }

  #later(ms: number, run: () => void): void {
    const timer = this.#clock.after(ms, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }
}

/** As a Deployment, StatefulSet and DaemonSet says that all of its pods run. */
function availableStatus(live: StoredObject, time: string): object {
  const wanted = valueAt(live, "spec", "replicas");
  const replicas = typeof wanted === "number" ? wanted : 1;
  return {
    observedGeneration: live.metadata.generation,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    numberAvailable: replicas,
    desiredNumberScheduled: replicas,
    updatedNumberScheduled: replicas,
    conditions: [
      trueCondition("Available", "MinimumReplicasAvailable", time),
      trueCondition("Progressing", "NewReplicaSetAvailable", time),
    ],
  };
}

function trueCondition(type: string, reason: string, time: string): object {
  const times = { lastTransitionTime: time, lastUpdateTime: time };
  return { type, status: "True", reason, message: "", ...times };
}

function completeStatus(time: string): object {
  const done = { status: "True", lastProbeTime: time, lastTransitionTime: time };
  return {
    succeeded: 1,
    startTime: time,
    completionTime: time,
    conditions: [
      { type: "SuccessCriteriaMet", ...done },
      { type: "Complete", ...done },
    ],
  };
}

function establishedStatus(time: string): object {
  return {
    conditions: ["NamesAccepted", "Established"].map((type) =>
      trueCondition(type, "NoConflicts", time),
    ),
  };
}
