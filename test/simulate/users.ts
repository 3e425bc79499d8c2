import { timestampOf } from "../../api/conditions.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { type Answer, StatusError } from "../simulator/answers.ts";
import type { SimulatedCluster } from "./cluster.ts";
import type { VirtualTime } from "./virtual-time.ts";

/**
 * What is wrong with a spoke: a workload of its users is not ready, a measure is bad, or now and then, or nobody says what it is, the gate denies the cluster or does not decide, or no new pods
 * start.
 */
export const ills = [
  "workload",
  "measure",
  "silence",
  "flapping",
  "denial",
  "doubt",
  "stuck",
] as const;

export type Ill = (typeof ills)[number];

/** A measure that is bad now and then is bad for so long, then good, and so on. */
const flapMs = 45_000;

/** The users of one spoke: a workload, and a Prometheus. */
export class Users {
  readonly cluster: SimulatedCluster;
  readonly #time: VirtualTime;
  readonly #startMs: number;
  /** Since when each ill has been there without a break, in ms of the simulation. */
  readonly #ills = new Map<Ill, number>();
  /** When something was wrong last, or a Deployment of ours was deleted, in ms of the simulation. */
  #illAt = -Infinity;
  #begunAt = -Infinity;
  #armed: { readonly ill: Ill; readonly afterMs: number; readonly ms: number } | undefined;
  /** Counts what was begun, so that an end of before ends nothing else. */
  #begun = 0;

  constructor(cluster: SimulatedCluster, time: VirtualTime, startMs: number) {
    this.cluster = cluster;
    this.#time = time;
    this.#startMs = startMs;
    for (const object of userObjects) cluster.put(object);
    this.#setReady(true);
    cluster.answerProxy = () => this.#measure();
    cluster.mayStart = () => !this.#ills.has("stuck");
    cluster.store.listen(({ type, object: { kind, metadata } }) => {
      if (kind !== "Deployment" || metadata.labels?.[componentUidLabel] === undefined) return;
      // Whoever needs what is gone has trouble until it is back.
      if (type === "DELETED") this.#illAt = this.#time.nowMs;
      if (type === "MODIFIED" && (metadata.generation ?? 1) > 1) this.#upgraded();
    });
  }

  /** Since when an ill has been there without a break, in ms of the simulation; undefined: it is not there. */
  since(ill: Ill): number | undefined {
    return this.#ills.get(ill);
  }

  /** When an ill began last, in ms of the simulation. */
  get begunAt(): number {
    return this.#begunAt;
  }

  /** Whether anything was wrong within so long. */
  wasIllWithin(ms: number): boolean {
    return this.#ills.size > 0 || this.#time.nowMs - this.#illAt < ms;
  }

  /** Lets something break with the next change of a Deployment of ours, `afterMs` later and for `ms`. */
  arm(ill: Ill, afterMs: number, ms: number): void {
    this.#armed = { ill, afterMs, ms };
  }

  /** Lets something break now for a time. */
  break(ill: Ill, ms: number): void {
    if (this.#ills.has(ill)) return;
    this.#ills.set(ill, this.#time.nowMs);
    this.#begunAt = this.#time.nowMs;
    if (ill === "workload") this.#setReady(false);
    this.#begun += 1;
    const begun = this.#begun;
    this.#time.after(ms, () => {
      if (begun === this.#begun) this.mend();
    });
  }

  /** Everything is well again. */
  mend(): void {
    this.#armed = undefined;
    if (this.#ills.size > 0) this.#illAt = this.#time.nowMs;
    if (this.#ills.delete("workload")) this.#setReady(true);
    this.#ills.clear();
  }

  /** Its objects are those of a backup: the controllers of the workload look again. */
  restored(): void {
    if (this.#ills.has("workload")) this.#ills.set("workload", this.#time.nowMs);
    this.#setReady(!this.#ills.has("workload"));
  }

  #upgraded(): void {
    const armed = this.#armed;
    if (armed === undefined) return;
    this.#armed = undefined;
    this.#time.after(armed.afterMs, () => this.break(armed.ill, armed.ms));
  }

  #setReady(isReady: boolean): void {
    const condition = {
      type: "Ready",
      status: isReady ? "True" : "False",
      reason: isReady ? "" : "SinkGone",
      lastTransitionTime: timestampOf(new Date(this.#startMs + this.#time.nowMs)),
    };
    const status = { observedGeneration: 1, conditions: [condition] };
    const live = this.cluster.store.find(workload);
    this.cluster.store.put({ ...(live ?? workload), status });
  }

  #measure(): Answer {
    if (this.#ills.has("silence")) {
      return new StatusError({ status: 503, reason: "ServiceUnavailable" }, "no endpoints").answer;
    }
    const flappingMs = this.#time.nowMs - (this.#ills.get("flapping") ?? Infinity);
    const isBad = this.#ills.has("measure") || Math.floor(flappingMs / flapMs) % 2 === 0;
    const value = [0, isBad ? "1" : "0"];
    return {
      status: 200,
      body: { status: "success", data: { resultType: "scalar", result: value } },
    };
  }
}

const errors = {
  name: "errors",
  prometheus: {
    service: { namespace: "apps", name: "prometheus", port: 9090, scheme: "http" },
    query: "errors",
    max: 0.5,
  },
};

const gate = { name: "gate", webhook: { url: "https://gate.simulated/knfleet" } };

/** What a set asks about the users of a cluster, and the gate, if it does. */
export function verifyOf(asksGate: boolean): object {
  const workloads = { maxNewlyBroken: 0, within: "1m" };
  return { workloads, checks: asksGate ? [errors, gate] : [errors] };
}

const owner = { owner: "somebody" };
/** Of somebody's kind, which its controller has written long ago. */
const workload = {
  apiVersion: "sources.example.com/v1",
  kind: "PaperSource",
  metadata: {
    namespace: "apps",
    name: "paper",
    labels: owner,
    generation: 1,
    creationTimestamp: "2025-01-01T00:00:00Z",
  },
};

const userObjects: readonly Manifest[] = [
  {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: "papersources.sources.example.com",
      labels: { ...owner, "duck.knative.dev/source": "true" },
    },
    spec: {
      group: "sources.example.com",
      scope: "Namespaced",
      names: { kind: "PaperSource", plural: "papersources" },
      versions: [{ name: "v1", served: true, storage: true, subresources: { status: {} } }],
    },
  },
];
