import { describe, expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject, type Manifest } from "../../../api/kubernetes.ts";
import { readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import { ensureSecondOwner } from "../../../controller/apply/anchor/second-owner.ts";
import { inventoryTextOf } from "../../../installation/anchor-object.ts";
import { componentUidLabel, secondOwnerKey } from "../../../installation/anchor.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, openInstaller, serving } from "./installer.ts";
import { liveObjects, outlives, sentTo, writtenTo } from "./spoke-view.ts";

const version = "1.23.0";

const fleet = useSpokes([{ kwok: false }]);

function ownersOf({ metadata }: KubeObject): readonly string[] | undefined {
  return metadata.ownerReferences?.map(({ uid }) => uid);
}

function isOfChannel({ metadata }: Manifest): boolean {
  return /imc|in-memory|inmemory/.test(metadata.name ?? "");
}

/** Still the text of an inventory, but of ConfigMaps alone. */
function onlyConfigMaps(inventory: string): string {
  const content = JSON.parse(inventory);
  const configMaps = "v1/ConfigMap";
  return JSON.stringify({ ...content, objects: { [configMaps]: content.objects[configMaps] } });
}

function without(rendered: Rendered, unwanted: (manifest: Manifest) => boolean): Rendered {
  const manifests = rendered.manifests.filter((manifest) => !unwanted(manifest));
  return { ...rendered, manifests, hash: `${rendered.hash}-less` };
}

function changed(rendered: Rendered, name: string, fields: object): Rendered {
  const manifests = rendered.manifests.map((manifest) =>
    manifest.metadata.name === name && manifest.kind === "ConfigMap"
      ? { ...manifest, ...fields }
      : manifest,
  );
  return { ...rendered, manifests, hash: `${rendered.hash}-changed` };
}

describe.each([
  { name: "Eventing", component: eventing({ version }) },
  {
    name: "Serving with Kourier",
    component: serving({ version, ingress: { kourier: { enabled: true } } }),
  },
])("$name on a real API server", ({ component }) => {
  test("is installed with one write an object and owned by its anchor", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    const since = new Date();
    const progress: number[] = [];
    const changes = await installer.install({ onProgress: ({ done }) => progress.push(done) });

    expect(changes).toMatchObject({ parked: [], failed: [], pruned: [], unchanged: 0 });
    const sent = await sentTo(spoke, since);
    // How often a CR is refused depends on how soon the server serves its CRD.
    const asked = sent.filter(({ verb, code }) => !(verb === "patch" && code === 404));
    expect(asked.length / rendered.manifests.length).toBeLessThanOrEqual(1.1);
    const accepted = sent.filter(({ verb, code }) => verb === "patch" && code < 300);
    const names = accepted.map(({ uri }) => uri.replace(/\?.*/, ""));
    // The anchor alone is written twice: created with the intent, then patched.
    expect(new Set(names).size).toBe(names.length);
    expect(accepted).toHaveLength(changes.applied.length + 1);

    const objects = await liveObjects(spoke, rendered);
    expect(objects).toHaveLength(rendered.manifests.length);
    const anchor = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    expect(anchor?.inventory).toMatchObject({ version, complete: true });
    expect(anchor?.inventory?.entries).toHaveLength(changes.applied.length);
    expect(anchor?.object.metadata.ownerReferences).toBeUndefined();
    expect(
      objects.filter(
        (object) =>
          object.metadata.namespace !== undefined && ownersOf(object)?.join() !== anchor?.uid,
      ),
    ).toEqual([]);
    const labelled = objects.filter(
      ({ metadata }) => metadata.labels?.[componentUidLabel] === component.metadata.uid,
    );
    expect(labelled).toHaveLength(rendered.manifests.filter((object) => !outlives(object)).length);
    expect(progress.toSorted((a, b) => a - b)).toEqual(progress);
    expect(progress.at(-1)).toBe(changes.applied.length);
  });

  test("is not written again, neither at once nor after a restart of the controller", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const since = new Date();
    const first = await installer.install();
    expect(await writtenTo(spoke, since)).toEqual([]);
    expect(first.applied).toEqual([]);

    const second = new Date();
    const changes = await installer.install();
    expect(changes.unchanged).toBeGreaterThan(50);
    expect(await sentTo(spoke, second)).toEqual([]);
  });

  test("follows a changed ConfigMap with one patch, which its anchor tells of before and after", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    await installer.install();
    const since = new Date();
    const changes = await installer.install({
      rendered: changed(rendered, "config-features", { data: { "new-trigger-filters": "off" } }),
    });
    expect(changes.applied).toMatchObject([{ kind: "ConfigMap", name: "config-features" }]);
    const anchor = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    const ofRoot = `patch configmaps ${anchor?.key.name}`;
    const written = await writtenTo(spoke, since);
    expect(written).toEqual([ofRoot, "patch configmaps config-features", ofRoot]);
    await installer.install({ rendered });
  });
});

describe("an installed component", () => {
  const namespace = "drifting";
  const drifting = eventing({ version }, { namespace });

  test("loses what it does not want any more, but no CRD", async () => {
    const spoke = fleet().spoke(0);
    const component = eventing({ version }, { namespace: "pruned" });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    await installer.install();
    const less = without(rendered, isOfChannel);
    const changes = await installer.install({ rendered: less });
    expect(changes).toMatchObject({ applied: [], failed: [] });
    const gone = rendered.manifests.filter(isOfChannel);
    expect(changes.pruned).toHaveLength(gone.filter((object) => !outlives(object)).length);
    const left = await liveObjects(spoke, { ...rendered, manifests: gone });
    expect(left.every(outlives)).toBe(true);
    expect(left.length).toBeGreaterThan(0);

    const none = await installer.install({
      rendered: { ...rendered, manifests: [], hash: "none" },
    });
    expect(none).toMatchObject({ applied: [], pruned: [] });
    const anchor = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    expect(anchor?.inventory?.entries.length).toBeGreaterThan(100);
    expect(await liveObjects(spoke, less)).toHaveLength(less.manifests.length);
    await installer.install({ rendered });
    expect(await liveObjects(spoke, rendered)).toHaveLength(rendered.manifests.length);
  });

  test.each([
    { damage: "could not be read", place: "damaged", damaged: () => "{broken" },
    { damage: "was cut", place: "cut", damaged: onlyConfigMaps },
  ])("loses what became obsolete while its inventory $damage", async ({ place, damaged }) => {
    const spoke = fleet().spoke(0);
    const component = eventing({ version }, { namespace: place });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    await installer.install();
    const anchor = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    if (anchor === undefined) throw new Error("There is no anchor");
    const { admin } = spoke;
    const { hubId } = installer.target;
    await ensureSecondOwner({ ...installer.target, component, hubId }, AbortSignal.timeout(60_000));
    await admin.patch(anchor.key, { data: { inventory: damaged(inventoryTextOf(anchor.object)) } });
    await installer.restart();
    const less = without(rendered, isOfChannel);
    const changes = await installer.install({ rendered: less });
    expect(changes).toMatchObject({ parked: [], failed: [] });
    const gone = rendered.manifests.filter(isOfChannel);
    expect(changes.pruned).toHaveLength(gone.filter((object) => !outlives(object)).length);
    const left = await liveObjects(spoke, { ...rendered, manifests: gone });
    expect(left.length).toBeGreaterThan(0);
    expect(left.every(outlives)).toBe(true);
    expect(await liveObjects(spoke, less)).toHaveLength(less.manifests.length);
    expect(await admin.get(secondOwnerKey(component))).toBeDefined();
    const after = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    expect(after?.uid).toBe(anchor.uid);
    expect(after?.inventory).toMatchObject({ complete: true });
    expect((await installer.install({ rendered: less })).applied).toEqual([]);
  });

  test("gets back what somebody deleted or changed, and nothing else", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component: drifting });
    const { installer } = opened;
    await installer.install();
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace,
      name: "eventing-controller",
    };
    installer.changes.length = 0;
    await spoke.admin.remove(deployment);
    await spoke.admin.patch(
      { ...deployment, apiVersion: "v1", kind: "ConfigMap", name: "config-br-defaults" },
      { data: { "default-br-config": "broken" } },
    );
    await waitFor("both changes to be seen", async () =>
      ["Deployment", "ConfigMap"].every((kind) =>
        installer.changes.some((change) => change.kind === "object" && change.key.kind === kind),
      ),
    );
    const since = new Date();
    const changes = await installer.install();
    expect(changes.applied.map(({ name }) => name).toSorted()).toEqual([
      "config-br-defaults",
      "eventing-controller",
    ]);
    expect(await writtenTo(spoke, since)).toHaveLength(2);
    expect(await spoke.admin.get(deployment)).toBeDefined();
  });

  test("gives a Job that is still there its label back, and runs it no second time", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component: drifting });
    const { installer } = opened;
    await installer.install();
    const job = (await installer.rendered()).manifests.find(({ kind }) => kind === "Job");
    const key = keyOf(job ?? { apiVersion: "", kind: "", metadata: {} });
    const before = await spoke.admin.get(key);
    installer.changes.length = 0;
    await spoke.admin.patch(key, { metadata: { labels: { [componentUidLabel]: null } } });
    await waitFor("the Job to leave the view", async () =>
      installer.changes.some((change) => change.kind === "object" && change.key.kind === "Job"),
    );
    expect(await installer.install()).toMatchObject({ applied: [key], repaired: [key] });
    const { metadata } = (await spoke.admin.get(key)) ?? {};
    expect(metadata?.uid).toBe(before?.metadata.uid);
    expect(metadata?.labels?.[componentUidLabel]).toBe(drifting.metadata.uid);
    expect((await installer.install()).applied).toEqual([]);
  });

  test("runs a Job again that is deleted before it has finished", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component: drifting });
    const { installer } = opened;
    await installer.install();
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const job = (await installer.rendered()).manifests.find(({ kind }) => kind === "Job");
    const key = keyOf(job ?? { apiVersion: "", kind: "", metadata: {} });
    const before = await spoke.admin.get(key);
    await spoke.admin.remove(key);
    await waitFor("its deletion to be seen", async () =>
      installer.observation.cutShort().has(objectId(key)),
    );
    expect(await installer.install()).toMatchObject({ applied: [key], repaired: [key] });
    const after = await spoke.admin.get(key);
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
    expect((await installer.install()).applied).toEqual([]);
  });

  test("does not run a Job again of which nobody knows whether it had finished", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component: drifting });
    const { installer } = opened;
    await installer.install();
    const jobs = (await installer.rendered()).manifests.filter(({ kind }) => kind === "Job");
    expect(jobs.length).toBeGreaterThan(0);
    await Promise.all(jobs.map((job) => spoke.admin.remove(keyOf(job))));
    await waitFor("the Jobs to be gone from the view", async () =>
      [...installer.observation.objects().values()].every(({ key }) => key.kind !== "Job"),
    );
    await installer.restart();
    expect((await installer.install()).applied).toEqual([]);
    expect(
      await spoke.admin.list({
        apiVersion: "batch/v1",
        kind: "Job",
        namespace,
      }),
    ).toEqual([]);
  });
});
