import { timestampOf } from "../../api/conditions.ts";
import {
  availableCondition,
  managedClusterApiVersion,
  workApiVersion,
} from "../../api/delivery.ts";
import { isSameJson } from "../../api/fields.ts";
import { groupOf, keyOf, type Manifest, type ObjectKey } from "../../api/kubernetes.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { feedbackAt } from "./feedback.ts";
import type { Network } from "./network.ts";
import type { Random } from "./random.ts";

export interface WorkAgentOptions {
  readonly network: Network;
  readonly random: Random;
  readonly hub: SimulatedCluster;
  readonly spoke: SimulatedCluster;
  readonly note: (text: string) => void;
}

/** The agent keeps a work until what it brought is gone. */
const cleanUp = "cluster.open-cluster-management.io/manifest-work-cleanup";
/** A cut hub is tried again after so long, and what the spoke refused, too. */
const retryMs = 5_000;
/** An agent that the hub has not heard for so long is called unavailable. OCM waits for five minutes; lives are short here. */
const unheardMs = 60_000;

/**
 * The work agent of Open Cluster Management on one spoke, as far as our works need it: applies their manifests, tells the hub what became of them, and removes them with their work. Its
 * requests to the spoke take no time; the way to the hub does, and may be cut. Not here: manifests that leave a work, and hubs or spokes that are restored.
 */
export class WorkAgent implements Disposable {
  /** As the network knows it. */
  readonly name = "work-agent";
  readonly #options: WorkAgentOptions;
  readonly #listening = new DisposableStack();
  #isPlanned = false;
  #unheardAt: number | undefined;

  constructor(options: WorkAgentOptions) {
    this.#options = options;
    const { hub, spoke } = options;
    this.#listening.use(
      hub.store.listen(({ object: { kind, metadata } }) => {
        if (kind === "ManifestWork" && metadata.namespace === spoke.name) this.#plan();
      }),
    );
    this.#listening.use(
      spoke.store.listen(({ object }) => {
        if (this.#works().some((work) => manifestsOf(work).some((one) => isOf(object, one)))) {
          this.#plan();
        }
      }),
    );
  }

  /** Nothing goes between it and the hub for so long. */
  silence(ms: number): void {
    const { network, spoke } = this.#options;
    network.cut(this.name, spoke.name, ms);
    this.#plan();
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }

  #works(): readonly StoredObject[] {
    const { hub, spoke } = this.#options;
    return [...hub.store.all(`${groupOf(workApiVersion)}/ManifestWork`)].filter(
      ({ metadata }) => metadata.namespace === spoke.name,
    );
  }

  /** Looks at all works soon, and now and then only later. */
  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    const { network, random } = this.#options;
    const ms = random.isHit(0.05) ? random.between(2_000, 40_000) : random.between(50, 1_500);
    network.time.after(ms, () => this.#travel());
  }

  #travel(): void {
    const { network, spoke } = this.#options;
    const wayMs = network.wayMs(this, spoke);
    const { nowMs } = network.time;
    if (wayMs === undefined) {
      this.#unheardAt ??= nowMs;
      if (nowMs - this.#unheardAt > unheardMs) this.#setAvailable("Unknown");
      network.time.after(retryMs, () => this.#travel());
      return;
    }
    this.#unheardAt = undefined;
    network.time.after(wayMs, () => {
      this.#isPlanned = false;
      this.#setAvailable("True");
      for (const work of this.#works()) this.#carryOut(work);
    });
  }

  #carryOut(work: StoredObject): void {
    const { metadata } = work;
    if (metadata.deletionTimestamp !== undefined) return this.#remove(work);
    if (metadata.finalizers?.includes(cleanUp) !== true) {
      const finalizers = [...(metadata.finalizers ?? []), cleanUp];
      this.#options.hub.patch(keyOf(work), { metadata: { finalizers } });
      return;
    }
    const applied = manifestsOf(work).map((manifest) => {
      const answer = this.#options.spoke.apply(manifest, "work-agent-knfleet");
      return { manifest, refusal: answer.status < 400 ? undefined : answer };
    });
    const isApplied = applied.every(({ refusal }) => refusal === undefined);
    if (!isApplied) this.#options.network.time.after(retryMs, () => this.#plan());
    const manifests = applied.map(({ manifest, refusal }) => ({
      resourceMeta: { kind: manifest.kind, name: manifest.metadata.name },
      conditions: [conditionNow("Applied", refusal === undefined, refusalText(manifest))],
      statusFeedback: { values: this.#feedbackOf(work, manifest) },
    }));
    const observed = { observedGeneration: metadata.generation };
    const conditions = [{ ...conditionNow("Applied", isApplied, ""), ...observed }];
    this.#tell(work, { conditions, resourceStatus: { manifests } });
  }

  /** Writes the status of a work, unless it says the same already. It is on its way for some time, in which the work may change. */
  #tell(work: StoredObject, status: object): void {
    const { hub, network } = this.#options;
    if (isSameJson(work["status"], status)) return;
    const wayMs = network.wayMs(this, this.#options.spoke);
    if (wayMs === undefined) return this.#plan();
    network.time.after(wayMs, () => {
      const live = hub.store.find(work);
      if (live?.metadata.resourceVersion === work.metadata.resourceVersion) {
        hub.store.put({ ...live, status });
      }
    });
  }

  #feedbackOf(work: StoredObject, manifest: Manifest): readonly object[] {
    const configs = valueAt(work, "spec", "manifestConfigs");
    const config = (Array.isArray(configs) ? configs : []).find(
      (one) =>
        valueAt(one, "resourceIdentifier", "name") === manifest.metadata.name &&
        valueAt(one, "resourceIdentifier", "group") === groupOf(manifest.apiVersion),
    );
    const rules = valueAt(config, "feedbackRules", 0, "jsonPaths");
    const live = this.#options.spoke.store.find(manifest);
    return (Array.isArray(rules) ? rules : []).flatMap((rule) => {
      const fieldValue = feedbackAt(live, String(valueAt(rule, "path")));
      return fieldValue === undefined ? [] : [{ name: valueAt(rule, "name"), fieldValue }];
    });
  }

  /** Removes what a work brought, and lets it go when that is gone. */
  #remove(work: StoredObject): void {
    const { hub, spoke, note } = this.#options;
    const going = manifestsOf(work).filter((manifest) => !isLeft(work, manifest));
    for (const manifest of going) spoke.remove(manifestKey(manifest));
    if (going.some((manifest) => spoke.store.find(manifest) !== undefined)) return;
    note(`work ${work.metadata.name} of ${spoke.name} is gone`);
    const finalizers = (work.metadata.finalizers ?? []).filter((one) => one !== cleanUp);
    hub.patch(keyOf(work), { metadata: { finalizers } });
  }

  #setAvailable(status: "True" | "Unknown"): void {
    const { hub, spoke, network, note } = this.#options;
    const metadata = { name: spoke.name };
    const live = hub.store.find({
      apiVersion: managedClusterApiVersion,
      kind: "ManagedCluster",
      metadata,
    });
    if (live === undefined || conditionOf(live, availableCondition)?.status === status) return;
    note(`ManagedCluster ${spoke.name} is available: ${status}`);
    const lastTransitionTime = timestampOf(network.time.date);
    const condition = { type: availableCondition, status, reason: "", message: "" };
    hub.store.put({ ...live, status: { conditions: [{ ...condition, lastTransitionTime }] } });
  }
}

function manifestsOf(work: StoredObject): readonly Manifest[] {
  const manifests = valueAt(work, "spec", "workload", "manifests");
  return Array.isArray(manifests) ? manifests : [];
}

function isOf({ kind, metadata }: StoredObject, manifest: Manifest): boolean {
  const { name, namespace } = manifest.metadata;
  return kind === manifest.kind && metadata.name === name && metadata.namespace === namespace;
}

/** Whether a manifest stays when its work goes. */
function isLeft(work: StoredObject, { kind }: Manifest): boolean {
  const policy = valueAt(work, "spec", "deleteOption", "propagationPolicy");
  return policy === "Orphan" || (policy === "SelectivelyOrphan" && kind === "Namespace");
}

function manifestKey({ apiVersion, kind, metadata }: Manifest): ObjectKey {
  const { namespace, name = "" } = metadata;
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}

/** The only refusal that there is here: nobody has brought the kind yet. */
function refusalText({ apiVersion, kind }: Manifest): string {
  return `Failed to apply manifest: no matches for kind "${kind}" in version "${apiVersion}"`;
}

function conditionNow(type: string, isTrue: boolean, refusal: string): object {
  return { type, status: isTrue ? "True" : "False", reason: type, message: isTrue ? "" : refusal };
}
