import { describe, expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import type { ResourcePatch } from "../../../render/patches/patch.ts";
import { applyPatches } from "../../../render/patches/patches.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, type Installer, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { config, named, renderedOf, serviceOf, workload } from "./small-set.ts";
import { sentTo } from "./spoke-view.ts";

// Without nodes a Deployment becomes available only when it wants no pods.
const fleet = useSpokes([{ kwok: false }]);

function autoscalerOf(namespace: string): Manifest {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "main" };
  return named(manifestOf(`autoscaling/v2 HorizontalPodAutoscaler ${namespace}/main`), {
    spec: { scaleTargetRef, minReplicas: 1, maxReplicas: 3 },
  });
}

function patchOf({ apiVersion, kind, metadata }: Manifest, content: string): ResourcePatch {
  const target = { apiVersion, kind, name: metadata.name ?? "" };
  return { target, patch: { type: "strategic", content } };
}

/** The set after patches, as `render` has it. */
function patchedSet(manifests: readonly Manifest[], patches: readonly ResourcePatch[]): Rendered {
  return {
    ...renderedOf(...manifests),
    ...applyPatches(eventing({ patches }), manifests),
    hash: "patched",
  };
}

async function inventoryOf({ component, target }: Installer) {
  const anchor = await readAnchor(component, target, AbortSignal.timeout(60_000));
  return {
    complete: anchor?.inventory?.complete,
    ids: anchor?.inventory?.entries.map(objectId) ?? [],
  };
}

/** As an autoscaler does it. */
async function scale({ admin }: Cluster, deployment: Manifest, replicas: number): Promise<void> {
  await admin.patch(keyOf(deployment), { spec: { replicas } }, { subresource: "scale" });
}

describe("what a patch deletes", () => {
  test("goes once all Deployments are available, the last patch first, and a restart of the controller forgets none of it", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "deleted";
    const deployment = named(workload(namespace));
    const removed = [autoscalerOf(namespace), config(namespace, { a: "1" }, "removed")];
    const manifests = [deployment, named(serviceOf(namespace)), ...removed];
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const { installer } = opened;
    await installer.install({ rendered: renderedOf(...manifests) });
    const there = (): Promise<readonly unknown[]> =>
      Promise.all(removed.map((one) => spoke.admin.get(keyOf(one))));
    expect(await there()).not.toContain(undefined);

    const patches = removed.map((one) => patchOf(one, "$patch: delete"));
    const rendered = patchedSet(manifests, patches);
    const changes = await installer.install({ rendered });
    expect(changes).toMatchObject({ pruned: [], failed: [], lingering: [] });
    await installer.restart();
    await installer.install({ rendered });
    expect(await there()).not.toContain(undefined);
    const waiting = await inventoryOf(installer);
    expect(waiting.complete).toBe(false);
    expect(waiting.ids).toEqual(expect.arrayContaining(removed.map((one) => objectId(keyOf(one)))));

    const since = new Date();
    await scale(spoke, deployment, 0);
    await waitFor("the deletions", async () => {
      await installer.install({ rendered });
      return (await there()).every((one) => one === undefined);
    });
    const deletions = (await sentTo(spoke, since)).filter(({ verb }) => verb === "delete");
    expect(deletions.map(({ uri }) => uri.replace(/\?.*/, "").split("/").at(-2))).toEqual([
      "configmaps",
      "horizontalpodautoscalers",
    ]);
    const after = await inventoryOf(installer);
    expect(after.complete).toBe(true);
    expect(after.ids).toHaveLength(rendered.manifests.length);
    expect(await installer.install({ rendered })).toMatchObject({ applied: [], pruned: [] });
    // Nobody took the number of pods from whom it was left to.
    const live = await spoke.admin.get(keyOf(deployment));
    expect(valueAt(live, "spec", "replicas")).toBe(0);
  });

  test("comes back with the patch that took it away", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "back";
    const manifests = [named(serviceOf(namespace)), config(namespace, { a: "1" }, "removed")];
    const [, removed] = manifests;
    if (removed === undefined) throw new Error("There is none");
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const { installer } = opened;
    await installer.install({ rendered: renderedOf(...manifests) });
    const without = patchedSet(manifests, [patchOf(removed, "$patch: delete")]);
    expect((await installer.install({ rendered: without })).pruned).toEqual([keyOf(removed)]);
    await installer.install({ rendered: renderedOf(...manifests) });
    expect(await spoke.admin.get(keyOf(removed))).toBeDefined();
  });

  test("is left alone where it never belonged to the installation", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "foreign";
    const mine = config(namespace, { a: "mine" }, "removed");
    await spoke.admin.create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    await spoke.admin.create(mine);
    const manifests = [named(serviceOf(namespace)), mine];
    await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
    const rendered = patchedSet(manifests, [patchOf(mine, "$patch: delete")]);
    expect(await opened.installer.install({ rendered })).toMatchObject({ pruned: [], failed: [] });
    expect(await spoke.admin.get(keyOf(mine))).toHaveProperty("data", { a: "mine" });
  });
});

test("a number of pods that is patched away belongs to whoever sets it", async () => {
  const spoke = fleet().spoke(0);
  const namespace = "freed";
  const deployment = named(workload(namespace, { replicas: 2 }));
  await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
  const { installer } = opened;
  await installer.install({ rendered: renderedOf(deployment) });
  await scale(spoke, deployment, 5);
  const rendered = patchedSet([deployment], [patchOf(deployment, "spec: {replicas: null}")]);
  await installer.install({ rendered });
  const live = await spoke.admin.get(keyOf(deployment));
  expect(valueAt(live, "spec", "replicas")).toBe(5);
  const own = live?.metadata.managedFields?.filter(({ manager }) => manager === "knfleet-hub-a");
  expect(JSON.stringify(own)).not.toContain("f:replicas");
  await scale(spoke, deployment, 4);
  await waitFor("the watch", () => installer.changes.length > 0 || undefined);
  await installer.install({ rendered });
  expect(valueAt(await spoke.admin.get(keyOf(deployment)), "spec", "replicas")).toBe(4);
});
