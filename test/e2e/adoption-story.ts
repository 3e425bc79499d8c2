import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type Component, type ComponentKind, componentKinds } from "../../api/component.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { isUpstreams } from "../../controller/apply/adoption/take-over.ts";
import { asComponent } from "../../controller/component-identity.ts";
import { anchorNameOf } from "../../installation/anchor.ts";
import type { Rendered } from "../../render/release/releases.ts";
import { render } from "../../render/render.ts";
import { UpstreamOperator } from "../controller/apply/upstream-operator.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { runAsAdmin } from "../support/documented-commands.ts";
import { eventsOf } from "./history.ts";
import {
  componentOf,
  conditionNames,
  installed,
  inventoryOf,
  leftovers,
  read,
  ready,
} from "./installation.ts";
import { releaseDir } from "./release-dir.ts";

/** The tests, for each of the worlds of releases: a worker runs a module once, so a test file cannot import another one. */
export function adoptionStory(): void {
  // There are no pods behind the webhooks of a release, which upstream's operator would meet.
  const fleet = useFleet({ spokes: 1, hub: { admissionWebhooks: false, kwok: true } });
  const stack = new AsyncDisposableStack();
  const patience = { timeoutMs: 120_000 };

  /** Something that upstream's operator installed, as it was before our controller came. */
  interface Inherited {
    readonly component: Component;
    readonly cluster: Cluster;
    readonly rendered: Rendered;
    /** uid and generation of each Deployment and of the anchor. */
    readonly lasting: readonly unknown[];
    /** What was on the cluster before upstream's operator. */
    readonly before: ReadonlySet<string>;
  }

  let controller: ControllerProcess;
  let inherited: ReadonlyMap<ComponentKind, Inherited>;

  beforeAll(async () => {
    // What our own set-up makes on the hub is there before anything is counted.
    const [kubeconfig, providerFile, releases, profile] = await Promise.all([
      fleet().controllerKubeconfig(),
      fleet().providerFile(),
      releaseDir(),
      fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" }),
    ]);
    inherited = new Map([
      ["KnativeEventing", await installByUpstream("KnativeEventing", profile)],
      ["KnativeServing", await installByUpstream("KnativeServing")],
    ]);
    const flags = ["--log-level=debug"];
    const options = { kubeconfig, providerFile, releaseDir: releases, flags };
    controller = await startControllerProcess(options);
    stack.defer(() => controller[Symbol.asyncDispose]());
    for (const { component } of inherited.values()) {
      const { uid } = component.metadata;
      await controller.logged({ msg: "Applied manifests", uid }, patience.timeoutMs);
    }
  }, 600_000);

  afterAll(async () => stack.disposeAsync());

  /** Upstream's operator has brought the component to Ready, on a spoke or on the hub itself, and is stopped. */
  async function installByUpstream(kind: ComponentKind, on?: Profile): Promise<Inherited> {
    const { hub } = fleet();
    const cluster = on === undefined ? hub : fleet().spoke(0);
    const manifest = componentOf({ kind, ...(on === undefined ? {} : { on }) });
    const { finalizer, label } = componentKinds[kind];
    await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: label } });
    const before = await inventoryOf(cluster);
    const metadata = { ...manifest.metadata, finalizers: [finalizer] };
    const component = asComponent(await hub.admin.create({ ...manifest, metadata }));
    if (component === undefined) throw new Error("The hub has no component");
    const rendered = await render(component, await openReleases(await releaseDir()));
    const upstream = new UpstreamOperator(cluster.admin, component, { isLocal: on === undefined });
    await upstream.reconcile(rendered);
    await rolledOut(cluster, rendered);
    await upstream.reconcile(rendered);
    await rolledOut(cluster, rendered);
    await hub.admin.patch(
      keyOf(component),
      { status: upstreamsStatus(component, rendered) },
      status,
    );
    return {
      component,
      cluster,
      rendered,
      lasting: await lastingOf(cluster, rendered, component),
      before,
    };
  }

  const status = { subresource: "status" } as const;

  async function rolledOut(cluster: Cluster, rendered: Rendered): Promise<void> {
    await waitFor(
      "all Deployments to be rolled out",
      async () => (await liveDeployments(cluster, rendered)).every(isRolledOut),
      patience,
    );
  }

  async function adoptionsOf(kind: ComponentKind, uid: string): Promise<readonly string[]> {
    const events = await eventsOf(fleet().hub, kind, uid);
    return events.filter((event) => event.startsWith("Adopted:"));
  }

  function inheritedOf(kind: ComponentKind): Inherited {
    const found = inherited.get(kind);
    if (found === undefined) throw new Error(`Upstream's operator installed no ${kind}`);
    return found;
  }

  /** Status and reason of the condition. */
  async function protectionOf(kind: ComponentKind): Promise<string> {
    const found = conditionOf(await read(fleet().hub, kind), "AnchorProtected");
    return found === undefined ? "none" : `${String(found.status)} ${String(found.reason)}`;
  }

  describe.each([
    { kind: "KnativeEventing", place: "on a spoke", protection: "True Enforced" },
    { kind: "KnativeServing", place: "on the hub itself", protection: "none" },
  ] as const)("$kind that upstream's operator installed $place", ({ kind, protection }) => {
    test("is taken over by the controller, told once, and no Deployment has another generation", async () => {
      const { hub } = fleet();
      const { component, cluster, rendered, lasting } = inheritedOf(kind);
      const { uid } = component.metadata;
      await expect
        .poll(() => adoptionsOf(kind, uid), { timeout: patience.timeoutMs })
        .toEqual([expect.stringMatching(/^Adopted: Took over \d+ objects .* ×1$/)]);
      await expect.poll(() => protectionOf(kind), { timeout: patience.timeoutMs }).toBe(protection);
      await ready(hub, kind);
      expect(lasting.length).toBeGreaterThan(5);
      expect(await lastingOf(cluster, rendered, component)).toEqual(lasting);
      const own = await installed(cluster, uid);
      expect(own.length).toBeGreaterThan(50);
      expect(own.filter((object) => isUpstreams(object)).map(keyOf)).toEqual([]);
    });

    test("is nothing new to a controller that starts anew", async () => {
      const { component, cluster, rendered, lasting } = inheritedOf(kind);
      const { uid } = component.metadata;
      await controller.stop();
      controller = await controller.startAgain();
      const done = { level: "debug", msg: "Reconciled, nothing new", uid, ready: "True" };
      await controller.logged(done, patience.timeoutMs);
      expect(await adoptionsOf(kind, uid)).toHaveLength(1);
      expect(await lastingOf(cluster, rendered, component)).toEqual(lasting);
    });

    test("goes without a trace when it is deleted", async () => {
      const { hub } = fleet();
      const { component, cluster, before } = inheritedOf(kind);
      const { label } = componentKinds[kind];
      // It waits for the finalizer.
      await runAsAdmin(hub, `kubectl delete ${kind} -n ${label} ${label} --timeout=120s`);
      expect(await read(hub, kind)).toBeUndefined();
      expect(await anchorOf(cluster, kind)).toBeUndefined();
      expect(await installed(cluster, component.metadata.uid)).toEqual([]);
      await expect.poll(() => leftovers(cluster, before), { timeout: 60_000 }).toEqual([]);
    });
  });
}

/** Spec: knative-operator.md 2.7, 4.5. */
function upstreamsStatus(
  { kind, metadata }: Component,
  { version }: Rendered,
): Readonly<Record<string, unknown>> {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return {
    conditions: conditionNames.map((type) => ({ type, status: "True", lastTransitionTime })),
    manifests: [`/var/run/ko/${componentKinds[kind].label}/${version}`],
    observedGeneration: metadata.generation,
    version,
  };
}

function anchorOf({ admin }: Cluster, kind: ComponentKind): Promise<KubeObject | undefined> {
  const name = componentKinds[kind].label;
  return admin.get({
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: name,
    name: anchorNameOf({ kind, name }),
  });
}

async function liveDeployments(
  { admin }: Cluster,
  { manifests }: Rendered,
): Promise<readonly KubeObject[]> {
  const wanted = manifests.filter(({ kind }) => kind === "Deployment");
  const live = await Promise.all(wanted.map((manifest) => admin.get(keyOf(manifest))));
  return live.filter((object) => object !== undefined);
}

function isRolledOut(deployment: KubeObject): boolean {
  const observed = valueAt(deployment, "status", "observedGeneration");
  return (
    observed === deployment.metadata.generation &&
    conditionOf(deployment, "Available")?.status === "True"
  );
}

/** What must never be made anew, nor rolled out. On the hub itself there is no anchor. */
async function lastingOf(
  cluster: Cluster,
  rendered: Rendered,
  { kind, spec }: Component,
): Promise<readonly unknown[]> {
  const anchor = spec?.clusterProfileRef === undefined ? undefined : await anchorOf(cluster, kind);
  const live = await liveDeployments(cluster, rendered);
  return [anchor, ...live].map((object) => {
    const { name, uid, generation } = object?.metadata ?? {};
    return [name, uid, generation];
  });
}
