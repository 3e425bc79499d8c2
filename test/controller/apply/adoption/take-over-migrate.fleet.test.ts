import { describe, expect, test } from "vitest";

import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { keyOf, type KubeObject, type Manifest } from "../../../../api/kubernetes.ts";
import { isUpstreams } from "../../../../controller/apply/adoption/take-over.ts";
import { readAnchor } from "../../../../controller/apply/anchor/anchor.ts";
import type { Rendered } from "../../../../render/release/releases.ts";
import { valueAt } from "../../../fleet/json-record.ts";
import { useFleet } from "../../../fleet/use-fleet.ts";
import { waitFor } from "../../../fleet/wait-for.ts";
import { type Death, dyingClient } from "../dying-client.ts";
import { eventing, type Installer, openInstaller } from "../installer.ts";
import { manifestOf } from "../prepared.ts";
import { config, named, renderedOf, setOf, workload } from "../small-set.ts";
import { liveObjects, outlives } from "../spoke-view.ts";
import { lastApplied, UpstreamOperator } from "../upstream-operator.ts";

const fleet = useFleet({ spokes: [{ kwok: false }] });

function roleOf(name: string): Manifest {
  return named(manifestOf(`rbac.authorization.k8s.io/v1 ClusterRole ${name}`), { rules: [] });
}

function managersOf(object: KubeObject | undefined): readonly (string | undefined)[] {
  return object?.metadata.managedFields?.map(({ manager }) => manager) ?? [];
}

describe("an older release that upstream installed", () => {
  test("becomes a newer one, and what that lacks is gone although no inventory named it; CRDs stay", async () => {
    const spoke = fleet().spoke(0);
    const older = eventing({ version: "1.22.1", source: { kafka: { enabled: true } } });
    const newer = { ...older, spec: { version: "1.23.0" } };
    await using opened = await openInstaller(spoke, { component: newer });
    const { installer } = opened;
    const [before, after] = [await installer.rendered(older), await installer.rendered()];
    await new UpstreamOperator(spoke.admin, older).reconcile(before);
    const wanted = new Set(after.manifests.map((manifest) => JSON.stringify(keyOf(manifest))));
    const dropped = before.manifests.filter(
      (manifest) => !wanted.has(JSON.stringify(keyOf(manifest))),
    );
    expect(dropped.length).toBeGreaterThan(20);

    const changes = await installer.install();
    expect(changes).toMatchObject({ parked: [], failed: [] });
    expect(changes.pruned).toHaveLength(dropped.filter((object) => !outlives(object)).length);
    await waitFor("what is obsolete to be gone", async () =>
      (await liveObjects(spoke, { ...before, manifests: dropped })).every(outlives),
    );
    expect(await liveObjects(spoke, after)).toHaveLength(after.manifests.length);
    const anchor = await readAnchor(newer, installer.target, AbortSignal.timeout(60_000));
    expect(anchor?.inventory).toMatchObject({ version: "1.23.0", complete: true });
  });

  test("is taken over to the end by the next attempt, wherever the first one stopped", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "stopped";
    const component = eventing({}, { namespace });
    const role = roleOf("stopped-obsolete");
    const old = setOf(
      namespace,
      config(namespace, { a: "1" }),
      config(namespace, {}, "gone"),
      role,
    );
    await new UpstreamOperator(spoke.admin, component).reconcile(old);
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = setOf(namespace, config(namespace, { b: "2" }));
    for (const stopAt of [0, 1, 2]) {
      const crash = new AbortController();
      const reason = new Error("Killed");
      const half = installer.install({
        rendered,
        signal: crash.signal,
        onProgress: ({ done }) => done >= stopAt && crash.abort(reason),
      });
      await expect(half).rejects.toBe(reason);
      await installer.restart();
    }
    expect(await installer.install({ rendered })).toMatchObject({ parked: [], failed: [] });
    await waitFor("what is obsolete to be gone", async () => {
      const left = [role, config(namespace, {}, "gone")];
      return (await liveObjects(spoke, renderedOf(...left))).length === 0;
    });
    const live = await spoke.admin.get(keyOf(config(namespace, {})));
    expect(valueAt(live, "data")).toEqual({ b: "2" });
  });
});

describe("a Job that upstream rendered otherwise", () => {
  test("is made anew, because no Job can be changed, and the adoption ends well", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "jobs";
    const component = eventing({}, { namespace });
    await new UpstreamOperator(spoke.admin, component).reconcile(
      setOf(namespace, migration(namespace, { "sidecar.istio.io/inject": "false" })),
    );
    const before = await spoke.admin.get(keyOf(migration(namespace)));
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = setOf(namespace, migration(namespace));
    expect(await installer.install({ rendered })).toMatchObject({ parked: [], failed: [] });
    const after = await spoke.admin.get(keyOf(migration(namespace)));
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
    expect(valueAt(after, "spec", "template", "metadata", "annotations")).toBeUndefined();
    const anchor = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    expect(anchor?.inventory).toMatchObject({ complete: true });
  });
});

function migration(namespace: string, annotations?: Readonly<Record<string, string>>): Manifest {
  const containers = [{ name: "migrate", image: "example.com/migrate:1" }];
  const template = {
    metadata: annotations === undefined ? {} : { annotations },
    spec: { containers, restartPolicy: "Never" },
  };
  return named(manifestOf(`batch/v1 Job ${namespace}/migrate-1.23.0`), { spec: { template } });
}

describe("what somebody applied beside it", () => {
  test("stays as it is, also when it carries the label of the component and notes like those of upstream", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "beside";
    const component = eventing({}, { namespace });
    const old = setOf(namespace, config(namespace, { a: "1" }), config(namespace, {}, "gone"));
    await new UpstreamOperator(spoke.admin, component).reconcile(old);
    const main = named(workload(namespace));
    const metadata = {
      ...main.metadata,
      name: "kafka-controller",
      annotations: { [lastApplied]: JSON.stringify(main) },
    };
    const others = [
      await spoke.admin.create({ ...main, metadata }),
      await spoke.admin.create({
        ...roleOf("beside-kafka"),
        metadata: { ...metadata, namespace: undefined },
      }),
    ];
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = setOf(namespace, config(namespace, { b: "2" }));
    const changes = await installer.install({ rendered });
    expect(changes).toMatchObject({ parked: [], failed: [], pruned: [{ name: "gone" }] });
    const live = await Promise.all(others.map((other) => spoke.admin.get(keyOf(other))));
    expect(live.map((object) => object?.metadata.labels)).toEqual(
      others.map((other) => other.metadata.labels),
    );
    const anchor = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    const names = anchor?.inventory?.entries.map(({ name }) => name);
    expect(names).not.toContain("kafka-controller");
  });
});

/** What only the older release has. */
function obsoleteIn(namespace: string): readonly Manifest[] {
  return [roleOf(`${namespace}-gone`), config(namespace, {}, "gone")];
}

/** What matters of an object that was taken over. */
function essenceOf(object: KubeObject | undefined): unknown {
  const { annotations = {}, ownerReferences = [] } = object?.metadata ?? {};
  const uids = ownerReferences.map(({ uid }) => uid).length;
  const marks = Object.keys(annotations).filter((name) => !name.startsWith("deployment."));
  // The cluster's own controllers write when they come to it.
  const managers = managersOf(object).filter((name) => name !== "kube-controller-manager");
  return [object?.kind, object?.["data"], object?.["spec"], marks, uids, managers];
}

/** Whether a process that begins to install dies before it is done. */
async function diesIn(
  installer: Installer,
  { rendered, death }: { readonly rendered: Rendered; readonly death: Death },
): Promise<boolean> {
  const dying = dyingClient(installer.client, death);
  await using victim = installer.beside(dying.client);
  await victim.install({ rendered }).catch((error: unknown) => {
    if (!dying.isDead()) throw error;
  });
  return dying.isDead();
}

describe("an adoption whose process dies", { timeout: 600_000 }, () => {
  test("before or after any of its writes ends as one that does not", async () => {
    const spoke = fleet().spoke(0);
    const adoptedIn = async (namespace: string, death?: Death) => {
      const component = eventing({}, { namespace });
      const old = setOf(namespace, config(namespace, { a: "1" }), ...obsoleteIn(namespace));
      await new UpstreamOperator(spoke.admin, component).reconcile(old);
      await using opened = await openInstaller(spoke, { component });
      const { installer } = opened;
      const rendered = setOf(namespace, config(namespace, { b: "2" }));
      const isDead = death !== undefined && (await diesIn(installer, { rendered, death }));
      const changes = await installer.install({ rendered });
      expect([namespace, changes]).toMatchObject([namespace, { parked: [], failed: [] }]);
      await waitFor("what is obsolete to be gone", async () => {
        const left = await liveObjects(spoke, renderedOf(...obsoleteIn(namespace)));
        return left.length === 0;
      });
      const live = await liveObjects(spoke, rendered);
      const anchor = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
      const again = await installer.install({ rendered });
      expect([namespace, again.applied]).toEqual([namespace, []]);
      const { complete, adopting = false, entries = [] } = anchor?.inventory ?? {};
      const state = JSON.stringify([live.map(essenceOf), complete, adopting, entries.length]);
      // Addresses are the cluster's.
      const plain = state.replaceAll(namespace, "ns").replaceAll(/"10\.[\d.]+"/g, '"address"');
      return { isDead, state: plain };
    };
    const { state } = await adoptedIn("undisturbed");
    let deaths = 0;
    for (let write = 1; deaths === 2 * (write - 1); write += 1) {
      for (const side of ["before", "after"] as const) {
        const end = await adoptedIn(`dies-${side}-${write}`, { write, side });
        expect([write, side, end.state]).toEqual([write, side, state]);
        if (end.isDead) deaths += 1;
      }
    }
    expect(deaths).toBeGreaterThan(14);
  });

  test("may have sent patches that land after the next process has read", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "late";
    const component = eventing({}, { namespace });
    const old = setOf(namespace, config(namespace, { a: "1" }), ...obsoleteIn(namespace));
    await new UpstreamOperator(spoke.admin, component).reconcile(old);
    await using opened = await openInstaller(spoke, { component });
    const { client } = opened.installer;
    let landed = 0;
    const patch: KubeClient["patch"] = async (...args) => {
      if (Array.isArray(args[1])) landed += 1;
      if (Array.isArray(args[1])) await client.patch(...args).catch(() => undefined);
      return client.patch(...args);
    };
    await using next = opened.installer.beside({ ...client, patch });
    const rendered = setOf(namespace, config(namespace, { b: "2" }));
    expect(await next.install({ rendered })).toMatchObject({ parked: [], failed: [] });
    expect(landed).toBeGreaterThan(3);
    expect((await liveObjects(spoke, rendered)).filter(isUpstreams)).toEqual([]);
  });
});

describe("a component of the hub itself that upstream installed", () => {
  test("is taken over, known by the status that upstream wrote", async () => {
    const { hub } = fleet();
    const namespace = "local";
    await hub.admin.create(manifestOf(`v1 Namespace ${namespace}`));
    const { metadata } = await hub.admin.create({
      ...manifestOf(`operator.knative.dev/v1beta1 KnativeEventing ${namespace}/knative-eventing`),
    });
    const component = {
      ...eventing({}, { namespace, uid: metadata.uid }),
      status: { version: "1.22.2", manifests: ["knative-eventing/1.22.2"] },
    };
    const role = roleOf("local-obsolete");
    const old = setOf(namespace, config(namespace, { a: "1" }), role);
    await new UpstreamOperator(hub.admin, component, { isLocal: true }).reconcile(old);
    const before = await hub.admin.get(keyOf(workload(namespace)));
    const kubeconfig = await fleet().controllerKubeconfig();
    await using opened = await openInstaller(hub, { component, kubeconfig, isLocal: true });
    const { installer } = opened;
    const rendered = setOf(namespace, config(namespace, { b: "2" }));
    const changes = await installer.install({ rendered });
    expect(changes).toMatchObject({
      parked: [],
      failed: [],
      pruned: [{ name: role.metadata.name }],
    });
    expect(valueAt(await hub.admin.get(keyOf(config(namespace, {}))), "data")).toEqual({ b: "2" });
    const after = await hub.admin.get(keyOf(workload(namespace)));
    expect(after?.metadata.generation).toBe(before?.metadata.generation);
    expect(after?.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid }]);
    await installer.restart();
    expect((await installer.install({ rendered })).applied).toEqual([]);
  });
});
