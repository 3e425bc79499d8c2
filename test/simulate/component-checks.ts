import { deliveryAnnotation } from "../../api/delivery.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredEvent, StoredObject } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import {
  componentUidOf,
  hasFinalizer,
  isComponent,
  isPulled,
  isReady,
  profileOf,
  versionOf,
} from "./component-facts.ts";
import { Copies, hubUidOf } from "./copies.ts";
import type { SimulatedFleet } from "./fleet.ts";
import { isRecorded } from "./install-checks.ts";
import { unheardMs } from "./memberships.ts";

export interface ComponentChecksOptions {
  readonly fleet: SimulatedFleet;
  readonly onProblem: (text: string) => void;
}

/** What holds of a component when it becomes Ready, and when it is let go, by what is on its spoke. */
export class ComponentChecks {
  readonly #options: ComponentChecksOptions;
  readonly #copies: Copies;

  constructor(options: ComponentChecksOptions) {
    this.#options = options;
    this.#copies = new Copies(options.fleet.spokes);
  }

  /** A component changed: on the hub, or the copy of one on a spoke. */
  onChange(cluster: SimulatedCluster, change: StoredEvent, before: StoredObject | undefined): void {
    const { type, object } = change;
    if (!isComponent(object)) return;
    const spoke = cluster === this.#options.fleet.hub ? this.#spokeOf(object) : cluster;
    if (spoke === undefined) return;
    if (hasFinalizer(before) && (type === "DELETED" || !hasFinalizer(object))) {
      this.#checkRemains(spoke, object);
    }
    if (type === "DELETED" || !isNews(object, before)) return;
    if (isByCopy(object)) this.#checkCopies(object);
    else this.#checkReady(spoke, object);
  }

  #checkCopies(component: StoredObject): void {
    if (this.#copies.wereReady(component)) return;
    const { kind, metadata } = component;
    this.#problem(`${kind} ${metadata.name} is Ready though its copy never was`);
  }

  /** The finalizer goes only when nothing of the installation is left. */
  #checkRemains(spoke: SimulatedCluster, component: StoredObject): void {
    const { uid } = component.metadata;
    if (spoke.isRestoredWithin(unheardMs)) return void this.#options.fleet.orphans.add(uid);
    // What the hub has taken over is not a part of the copy any more.
    const uids = this.#copies.uidsOf(component);
    const left = [...spoke.store.everything()].filter((object) => {
      const isCopy = hubUidOf(object) === uid;
      return isCopy || uids.has(componentUidOf(object) ?? "");
    });
    if (left.length === 0) return;
    const names = left.map(({ kind, metadata }) => `${kind} ${metadata.name}`).slice(0, 3);
    const { kind, metadata } = component;
    this.#problem(`${kind} ${metadata.name} is let go while ${names.join(", ")} are left of it`);
  }

  /** What is ready is there, whole and running. */
  #checkReady(spoke: SimulatedCluster, component: StoredObject): void {
    const { kind, metadata } = component;
    if (spoke.isRestoredWithin(unheardMs)) return;
    const what = `${kind} ${metadata.name} is Ready`;
    const wanted = String(valueAt(component, "spec", "version"));
    if (!versionOf(component).startsWith(wanted)) {
      this.#problem(`${what} with version ${versionOf(component)}, ${wanted} is wanted`);
    }
    const parts = [...spoke.store.everything()].filter(
      (object) => componentUidOf(object) === metadata.uid,
    );
    const old = parts.find(({ metadata: { labels } }) => {
      const version = labels?.["app.kubernetes.io/version"];
      return version !== undefined && minorOf(version) !== minorOf(versionOf(component));
    });
    if (old !== undefined) {
      this.#problem(`${what} while ${old.kind} ${old.metadata.name} is of another version`);
    }
    if (!isRecorded(spoke, component)) {
      this.#problem(`${what} while its inventory is not complete`);
    }
    const workloads = parts.filter((object) => object.kind === "Deployment");
    if (workloads.length === 0) this.#problem(`${what} without a workload`);
    for (const workload of workloads) {
      const { generation, name } = workload.metadata;
      const isAvailable = valueAt(workload, "status", "observedGeneration") === generation;
      if (!isAvailable) this.#problem(`${what} while Deployment ${name} is not available`);
    }
  }

  #spokeOf(component: StoredObject): SimulatedCluster | undefined {
    const name = profileOf(component);
    return this.#options.fleet.spokes.find((spoke) => spoke.name === name);
  }

  #problem(text: string): void {
    this.#options.onProblem(text);
  }
}

/** Whether a component is Ready, and was not with this version. */
function isNews(component: StoredObject, before: StoredObject | undefined): boolean {
  if (!isReady(component)) return false;
  return !isReady(before) || valueAt(before, "status", "version") !== versionOf(component);
}

/** Whether a component is Ready by its copy. What the hub takes back is so by the hub's own installation. */
function isByCopy(component: StoredObject): boolean {
  return isPulled(component) && component.metadata.annotations?.[deliveryAnnotation] !== "Push";
}

/** The first two numbers: a part of a release may have a patch version of its own. */
function minorOf(version: string): string {
  return version.split(".", 2).join(".");
}
