import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import { operatorApiVersion } from "../../../../../api/component.ts";
import { timestampOf } from "../../../../../api/conditions.ts";
import {
  type FleetSet,
  type FleetSetSpec,
  type FleetSetStatus,
  fleetSetApiVersion,
  revisionAnnotations,
  type RolloutPhase,
  setAnnotations,
  setLabels,
  type StageStatus,
} from "../../../../../api/fleet-set.ts";
import { isFleetSet } from "../../../../../controller/sets/set-caches.ts";
import { revisionNameOf } from "../../../../../sets/desired-spec.ts";
import { revisionObject } from "../../../../../sets/revision-object.ts";
import type { AdminClient } from "../../../../fleet/admin-client.ts";

export const namespace = "platform";
export const prodKey = {
  apiVersion: fleetSetApiVersion,
  kind: "KnativeServingSet",
  namespace,
  name: "prod",
} as const;
const stages = [
  { name: "canary", selector: { matchLabels: { ring: "0" } }, after: { approval: true } },
  { name: "rest", selector: {} },
];
export const spec = {
  clusters: { from: "Selector", selector: { namespaces: ["fleet"] } },
  template: { spec: { version: "1.23" } },
  rollout: { stages },
};
export const before = { template: { spec: { version: "1.22" } } };

const counts = { clusters: 1, done: 0, failed: 0, updating: 0, unreachable: 0 };
const { apiVersion, kind } = prodKey;
const metadata = { namespace, name: prodKey.name };

/** KnativeServingSet platform/prod on a hub without a controller: what a controller would write is written by hand. */
export class RolloutScene {
  readonly #admin: AdminClient;
  /** The revision that the set wants, and the one that was completed before. */
  update = "";
  previous = "";

  constructor(admin: AdminClient) {
    this.#admin = admin;
  }

  /** Two clusters, the set with a component on the first one, and two components of nobody in namespace `legacy`. */
  async make(): Promise<void> {
    for (const name of [namespace, "fleet", "legacy"]) {
      // oxlint-disable-next-line no-await-in-loop -- three namespaces
      await this.#admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    await Promise.all([this.#makeProfile("eu-1", "0"), this.#makeProfile("eu-2", "1")]);
    await this.apply();
    await this.#makeComponent(namespace, "eu-1", "1.22");
    await this.#makeComponent("legacy", "us-1", "1.22");
    await this.#makeComponent("legacy", "us-2", "1.23");
    this.previous = await this.#record(before, 1);
    this.update = await this.#record({}, 2);
  }

  /** Writes the set with its usual spec, or another one. */
  async apply(more: object = {}): Promise<void> {
    await this.#admin.apply({ apiVersion, kind, metadata, spec: { ...spec, ...more } });
  }

  /** Puts the spec back, whoever has changed it. */
  async reset(): Promise<void> {
    await this.#admin.patch(prodKey, { spec: { ...spec, overrides: null } });
  }

  async read(): Promise<FleetSet> {
    const found = await this.#admin.get(prodKey);
    if (found === undefined || !isFleetSet(found)) throw new Error("There is a set");
    return found;
  }

  async annotations(): Promise<Readonly<Record<string, string>>> {
    return (await this.read()).metadata.annotations ?? {};
  }

  /** Sets annotations; null removes one. */
  async annotate(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.#admin.patch(prodKey, { metadata: { annotations } });
  }

  /** Writes the status as a controller would, about the latest spec. */
  async setStatus(
    phase: RolloutPhase,
    canary: StageStatus["state"],
    more: Partial<FleetSetStatus> = {},
  ): Promise<void> {
    const { generation = 0 } = (await this.read()).metadata;
    const status: FleetSetStatus = {
      observedGeneration: generation,
      currentRevision: this.previous,
      updateRevision: this.update,
      rollout: { phase, stage: "canary", startedAt: timestampOf(new Date()) },
      clusters: { selected: 2, done: 0, failed: phase === "Halted" ? 1 : 0 },
      stages: [
        { ...counts, name: "canary", state: canary },
        { ...counts, name: "rest", state: "Waiting" },
      ],
      ...more,
    };
    await this.#admin.apply({ apiVersion, kind, metadata, status }, { subresource: "status" });
  }

  async #makeProfile(name: string, ring: string): Promise<void> {
    const profile = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile" };
    await this.#admin.apply({
      ...profile,
      metadata: { namespace: "fleet", name, labels: { ring } },
      spec: { displayName: name, clusterManager: { name: "test" } },
    });
    const healthy = {
      type: "ControlPlaneHealthy",
      status: "True",
      reason: "Healthy",
      message: "",
      lastTransitionTime: timestampOf(new Date()),
    };
    await this.#admin.apply(
      { ...profile, metadata: { namespace: "fleet", name }, status: { conditions: [healthy] } },
      { subresource: "status" },
    );
  }

  /** A component, stamped by the set in its own namespace. */
  async #makeComponent(place: string, cluster: string, version: string): Promise<void> {
    const component = { apiVersion: operatorApiVersion, kind: "KnativeServing" };
    const isStamped = place === namespace;
    const name = isStamped ? `prod-fleet-${cluster}` : cluster;
    const labels = {
      [setLabels.set]: "prod",
      [setLabels.kind]: kind,
      [setLabels.revision]: "prod-0",
    };
    const annotations = {
      [setAnnotations.setUid]: (await this.read()).metadata.uid,
      [setAnnotations.component]: name,
    };
    const marks = isStamped ? { labels, annotations } : {};
    await this.#admin.apply({
      ...component,
      metadata: { namespace: place, name, ...marks },
      spec: { version, clusterProfileRef: { namespace: "fleet", name: cluster } },
    });
    await this.#admin.apply(
      { ...component, metadata: { namespace: place, name }, status: { version: `${version}.0` } },
      { subresource: "status" },
    );
  }

  /** Records a content of the set; the first one was completed. */
  async #record(content: Partial<FleetSetSpec>, number: number): Promise<string> {
    const set = await this.read();
    const whole = { ...set, spec: { ...set.spec, ...content } };
    const name = revisionNameOf(whole);
    const object = revisionObject(whole, { name, number, content: whole.spec });
    const completed: Readonly<Record<string, string>> =
      number === 1 ? { [revisionAnnotations.completed]: "1" } : {};
    await this.#admin.apply({
      ...object,
      metadata: { ...object.metadata, annotations: completed },
    });
    return name;
  }
}
