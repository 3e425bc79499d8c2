import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { type Component, operatorApiVersion } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import {
  type FleetSet,
  type FleetSetSpec,
  setAnnotations,
  setLabels,
  steering,
} from "../../api/fleet-set.ts";
import {
  answerAfter,
  type CheckAnswer,
  type ClusterAnswers,
  type Reply,
  type Verification,
} from "../../sets/check-answer.ts";
import { decide } from "../../sets/decide.ts";
import { DesiredSpecs } from "../../sets/desired-spec.ts";
import type { Decision, Obstacle, Revision, Selection, SetFacts } from "../../sets/facts.ts";
import type { History } from "../../sets/standing.ts";
import { withEntries } from "../../sets/status/record-entry.ts";
import { checksOf, patienceOf } from "../../sets/verify.ts";
import { contentAnnotation } from "./stamped-content.ts";
import { type Fate, says, statusAfter } from "./status-after.ts";

type Rollout = NonNullable<FleetSetSpec["rollout"]>;

const start = Date.parse("2026-11-25T12:00:00Z");
const beginning: History = { since: start - 1_000, clusters: new Map() };

export interface SimulatedCluster {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly fate: (version: string) => Fate;
}

type AskedAnswers = ClusterAnswers & { readonly checks: Map<string, CheckAnswer> };

/** What a hub and its spokes make of the decisions about one set: objects as an API server would hold them, and a clock that is turned by hand. */
export class SetWorld {
  readonly clusters: Map<string, SimulatedCluster>;
  readonly children = new Map<string, Component>();
  readonly obstacles = new Map<string, Obstacle>();
  revisions: readonly Revision[] = [];
  /** The versions of the release folder, the newest first. */
  available: readonly string[] = [];
  /** Digest of what the set renders; undefined: not known. */
  digest: string | undefined;
  selection: Selection | undefined;
  set: FleetSet;
  now = start;
  writes = 0;
  /** What the process that decides has seen. */
  history: History = beginning;
  /** What a cluster answers to a check of the set now; undefined: nothing yet. Absent: nobody asks. */
  reply: ((cluster: string, check: string) => Reply | undefined) | undefined;
  #answers = new Map<string, AskedAnswers>();

  constructor(rollout: Partial<Rollout>, clusters: readonly SimulatedCluster[]) {
    this.clusters = new Map(clusters.map((cluster) => [cluster.name, cluster]));
    this.set = {
      apiVersion: "knfleet.dev/v1alpha1",
      kind: "KnativeServingSet",
      metadata: {
        name: "prod",
        namespace: "fleet",
        uid: "set",
        resourceVersion: "1",
        generation: 1,
      },
      spec: {
        clusters: { from: "Selector" },
        template: { spec: { version: "1.22.0" } },
        adoption: "IfEqual",
        deletionPolicy: "Orphan",
        revisionHistoryLimit: 10,
        rollout: rolloutWith(rollout),
      },
    };
  }

  facts(): SetFacts {
    const profiles = [...this.clusters.values()].map((cluster) => this.#profile(cluster));
    const clusters = profiles.map(({ metadata: { namespace, name } }) => ({ namespace, name }));
    return structuredClone({
      set: this.set,
      revisions: this.revisions,
      selection: this.selection ?? { kind: "clusters", clusters },
      profiles: new Map(profiles.map((profile) => [`fleet/${profile.metadata.name}`, profile])),
      children: [...this.children.values()],
      obstacles: this.obstacles,
      available: this.available,
      ...(this.digest === undefined ? {} : { digest: this.digest }),
      history: this.history,
      ...(this.reply === undefined ? {} : { answers: this.#answers }),
    });
  }

  /** Another process decides from now on. */
  lead(): void {
    this.history = { since: this.now, clusters: new Map() };
    this.#answers = new Map();
  }

  decide(): Decision {
    return decide(this.facts(), this.now);
  }

  /** Writes what was decided, the status and the mark first. Of the stamps only the first `limit`, as a controller that was killed would have. */
  write(decision: Decision, limit = Number.POSITIVE_INFINITY): void {
    if (JSON.stringify(this.set.status) !== JSON.stringify(decision.status)) {
      this.writes += 1;
      this.set = { ...this.set, status: decision.status };
    }
    this.history = decision.history ?? this.history;
    this.#ask(decision.verifications ?? []);
    this.#record(decision);
    if (decision.mark !== undefined) this.#mark(decision.mark);
    for (const { cluster, revision, stage } of decision.stamps.slice(0, limit)) {
      this.#stamp(cluster, { revision, stage });
    }
    const { orphan, remove, markUnselected, unmark } = decision.removals;
    for (const { name } of [...orphan, ...remove]) this.children.delete(keyOf(name));
    const at = timestampOf(new Date(this.now));
    for (const { name } of markUnselected)
      this.#annotate(keyOf(name), setAnnotations.unselectedAt, at);
    for (const { name } of unmark)
      this.#annotate(keyOf(name), setAnnotations.unselectedAt, undefined);
  }

  /** Decides and writes until nothing is left to be written at this moment. */
  settle(): Decision {
    for (let round = 0; round < 20; round += 1) {
      const decision = this.decide();
      this.write(decision);
      const writes = [...decision.stamps, ...Object.values(decision.removals).flat()];
      if (decision.mark === undefined && writes.length === 0) return decision;
    }
    throw new Error("The decisions about the set never end");
  }

  /** Lets time pass; components take what was stamped. */
  pass(ms: number): void {
    this.now += ms;
    for (const [key, child] of this.children) this.children.set(key, this.#taken(key, child));
  }

  /** Lets rounds of ten seconds pass until the phase is one of these. */
  run(phases: readonly string[], rounds = 2_000): Decision {
    for (let round = 0; round < rounds; round += 1) {
      const decision = this.settle();
      if (phases.includes(decision.status.rollout?.phase ?? "")) return decision;
      this.pass(10_000);
    }
    throw new Error(`Never ${phases.join(" or ")}: ${JSON.stringify(this.set.status?.rollout)}`);
  }

  edit(spec: Partial<FleetSetSpec>): void {
    const { generation = 1 } = this.set.metadata;
    this.set = {
      ...this.set,
      metadata: { ...this.set.metadata, generation: generation + 1 },
      spec: { ...this.set.spec, ...spec },
    };
  }

  annotate(name: string, value: string | undefined): void {
    const { [name]: _, ...others } = this.set.metadata.annotations ?? {};
    const annotations = value === undefined ? others : { ...others, [name]: value };
    this.set = { ...this.set, metadata: { ...this.set.metadata, annotations } };
  }

  versions(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.children].map(([key, { spec }]) => [
        key.slice("fleet/".length),
        spec?.version ?? "",
      ]),
    );
  }

  #ask(verifications: readonly Verification[]): void {
    const before = this.#answers;
    this.#answers = new Map();
    for (const { cluster, stamp, spec } of verifications) {
      const known = before.get(cluster);
      const { askedSince, checks } =
        known?.stamp === stamp
          ? known
          : { askedSince: this.now, checks: new Map<string, CheckAnswer>() };
      for (const check of checksOf(spec)) {
        const reply = this.reply?.(cluster.slice("fleet/".length), check.name);
        if (reply === undefined) continue;
        const patience = { now: this.now, patienceMs: patienceOf(check) };
        checks.set(check.name, answerAfter(checks.get(check.name), reply, patience));
      }
      this.#answers.set(cluster, { stamp, askedSince, checks });
    }
  }

  #annotate(key: string, name: string, value: string | undefined): void {
    const child = this.children.get(key);
    if (child === undefined) return;
    const { [name]: _, ...others } = child.metadata.annotations ?? {};
    const annotations = value === undefined ? others : { ...others, [name]: value };
    this.children.set(key, { ...child, metadata: { ...child.metadata, annotations } });
  }

  #mark(mark: NonNullable<Decision["mark"]>): void {
    this.writes += 1;
    const content = mark.kind === "begin" ? mark.content : { template: this.set.spec.template };
    const others = this.revisions.filter(({ name }) => name !== mark.name);
    const known = this.revisions.find(({ name }) => name === mark.name);
    const record = withEntries(known?.record ?? [], mark.entries ?? []);
    const base = { ...(known ?? { name: mark.name, number: 0, failed: false, content }), record };
    if (mark.kind === "begin") this.revisions = [...others, { ...base, number: mark.number }];
    if (mark.kind === "digest") {
      const { digest } = mark;
      this.revisions = [...others, { ...base, content: { ...base.content, digest } }];
    }
    if (mark.kind === "complete") {
      this.revisions = [...others, { ...base, completedNumber: mark.number }];
    }
    if (mark.kind === "fail") this.revisions = [...others, { ...base, failed: true }];
    if (mark.kind !== "retry") return;
    const retriedAt = new Date(this.now).toISOString();
    this.revisions = [...others, { ...base, failed: false, retriedAt }];
    this.annotate(steering.retry, undefined);
    this.annotate(steering.abort, undefined);
  }

  #record({ records, mark }: Decision): void {
    if (records === undefined) return;
    const { name: revision, entries } = records;
    if (mark?.kind !== "begin") this.#dropDeeds();
    this.revisions = this.revisions.map((one) =>
      one.name === revision ? { ...one, record: withEntries(one.record ?? [], entries) } : one,
    );
  }

  #dropDeeds(): void {
    const deeds = Object.keys(this.set.metadata.annotations ?? {});
    for (const name of deeds.filter((one) => one.startsWith(steering.did))) {
      this.annotate(name, undefined);
    }
  }

  #profile({ name, labels, fate }: SimulatedCluster): ClusterProfile {
    const version = this.children.get(`fleet/${name}`)?.spec?.version ?? "";
    const status = fate(version) === "dark" ? "False" : "True";
    return {
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ClusterProfile",
      metadata: { namespace: "fleet", name, uid: `uid-${name}`, resourceVersion: "1", labels },
      status: { conditions: [{ type: "ControlPlaneHealthy", status }] },
    };
  }

  #stamp(
    key: string,
    { revision, stage }: { readonly revision: string; readonly stage: string },
  ): void {
    this.writes += 1;
    const cluster = this.clusters.get(key.slice("fleet/".length));
    const found = this.revisions.find(({ name }) => name === revision);
    if (cluster === undefined || found === undefined) throw new Error(`Nothing to stamp on ${key}`);
    const desired = new DesiredSpecs(found.content).of(this.#profile(cluster));
    if ("missing" in desired) throw new Error(`${key} lacks ${desired.missing}`);
    const before = this.children.get(key);
    const spec = { ...desired.spec, clusterProfileRef: { namespace: "fleet", name: cluster.name } };
    const isSame = JSON.stringify(before?.spec) === JSON.stringify(spec);
    const generation = (before?.metadata.generation ?? 0) + (isSame ? 0 : 1);
    this.children.set(key, {
      apiVersion: operatorApiVersion,
      kind: "KnativeServing",
      metadata: {
        name: `prod-${cluster.name}`,
        namespace: "fleet",
        uid: `child-${cluster.name}`,
        resourceVersion: "1",
        generation,
        labels: {
          [setLabels.set]: "prod",
          [setLabels.revision]: revision,
          [setLabels.stage]: stage,
        },
        annotations: {
          [setAnnotations.updatedAt]: timestampOf(new Date(this.now)),
          [setAnnotations.spec]: desired.hash,
          ...contentAnnotation(desired.hash, this.digest),
        },
      },
      spec,
      ...(before?.status === undefined ? {} : { status: before.status }),
    });
  }

  #taken(key: string, child: Component): Component {
    const version = child.spec?.version ?? "";
    const fate = this.clusters.get(key.slice("fleet/".length))?.fate(version) ?? "ready";
    return says(child, fate)
      ? child
      : { ...child, status: statusAfter(child, fate, timestampOf(new Date(this.now))) };
  }
}

/** The cluster of a component, by its name. */
function keyOf(name: string): string {
  return `fleet/${name.slice("prod-".length)}`;
}

/** `spec.rollout` as the API server stores it, with the defaults of the schema. */
export function rolloutWith(fields: Partial<Rollout> = {}): Rollout {
  return {
    unmatched: "Last",
    order: "Hashed",
    minReadySeconds: 0,
    progressDeadline: "15m",
    onFailure: "Pause",
    paused: false,
    ...fields,
  };
}

/** Clusters `<ring>-<number>` with the label `ring`. */
export function ring(
  name: string,
  count: number,
  fate: SimulatedCluster["fate"] = () => "ready",
): readonly SimulatedCluster[] {
  return Array.from({ length: count }, (_, at) => ({
    name: `${name}-${at + 1}`,
    labels: { ring: name },
    fate,
  }));
}

/** A stage that selects the clusters of a ring. */
export function stageOfRing(name: string, fields: object = {}) {
  return { name, selector: { matchLabels: { ring: name } }, ...fields };
}
