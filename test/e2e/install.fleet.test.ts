import { describe, expect, test } from "vitest";

import { componentKinds, type ComponentKind } from "../../api/component.ts";
import { keyOf, type KubeObject, type Manifest } from "../../api/kubernetes.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { asComponent } from "../../controller/component-identity.ts";
import { anchorNameOf } from "../../installation/anchor.ts";
import { render } from "../../render/render.ts";
import type { AuditedRequest } from "../fleet/audit-log.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { differencesOf, dumpOfComponent } from "../support/spoke-dump.ts";
import {
  change,
  create,
  gone,
  installed,
  inventoryOf,
  kindServed,
  leftovers,
  observed,
  read,
  ready,
  remove,
} from "./installation.ts";
import { releaseDir } from "./release-dir.ts";
import { guardWritesTo, requestsTo, writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";

const clockFactor = 5;
/** For 25 s of the controller's time no request may be sent. */
const steadyMs = 25_000 / clockFactor;
const scene = useScene({ spokes: 2 }, { clockFactor });

/** What users make of the kinds that an installation defines. */
const customs = {
  KnativeServing: { apiVersion: "serving.knative.dev/v1", kind: "Configuration", spec: {} },
  KnativeEventing: { apiVersion: "eventing.knative.dev/v1", kind: "Broker", spec: {} },
};

async function renderedOf(kind: ComponentKind): Promise<readonly Manifest[]> {
  const releases = await openReleases(await releaseDir());
  const component = asComponent(await read(scene().hub, kind));
  if (component === undefined) throw new Error(`There is no ${kind}`);
  const { manifests } = await render(component, releases);
  return manifests;
}

function anchorOf(cluster: Cluster, kind: ComponentKind): Promise<KubeObject | undefined> {
  const name = componentKinds[kind].label;
  return cluster.admin.get({
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: name,
    name: anchorNameOf({ kind, name }),
  });
}

function generations(objects: readonly KubeObject[]): ReadonlyMap<string, number | undefined> {
  return new Map(objects.map(({ metadata }) => [metadata.uid, metadata.generation]));
}

async function bothReady(): Promise<void> {
  await Promise.all([ready(scene().hub, "KnativeServing"), ready(scene().hub, "KnativeEventing")]);
}

describe("two components on two spokes", () => {
  const kinds: readonly ComponentKind[] = ["KnativeServing", "KnativeEventing"];
  const spokeOf = (kind: ComponentKind) => scene().fleet.spoke(kinds.indexOf(kind));
  const before = new Map<Cluster, ReadonlySet<string>>();

  test("become ready through the two official plugins, as a ServiceAccount", async () => {
    const { hub, fleet, profiles } = scene();
    for (const spoke of fleet.spokes) before.set(spoke, await inventoryOf(spoke));
    await create(hub, { kind: "KnativeServing", on: profiles[0] });
    await create(hub, { kind: "KnativeEventing", on: profiles[1] });
    await bothReady();
    const serving = await read(hub, "KnativeServing");
    expect(valueAt(serving, "status", "version")).toBe("1.23.1");
    expect(valueAt(serving, "status", "manifests")).toEqual([
      "knative-serving/1.23.1",
      "ingress/1.23/kourier",
    ]);
    for (const spoke of fleet.spokes) {
      const users = new Set((await requestsTo(spoke)).map(({ user }) => user));
      expect([...users]).toEqual(["system:serviceaccount:knfleet:knfleet-hub"]);
    }
  });

  test.each(kinds)("%s: everything rendered is there, owned by the anchor", async (kind) => {
    const spoke = spokeOf(kind);
    const anchor = await anchorOf(spoke, kind);
    expect(anchor?.metadata.ownerReferences ?? []).toEqual([]);
    const manifests = await renderedOf(kind);
    const missing: string[] = [];
    const unowned: string[] = [];
    for (const manifest of manifests) {
      const live = await spoke.admin.get(keyOf(manifest));
      const { namespace, name = "" } = manifest.metadata;
      if (live === undefined) missing.push(`${manifest.kind} ${name}`);
      const owners = live?.metadata.ownerReferences?.map(({ uid, controller }) => [
        uid,
        controller,
      ]);
      const wanted = namespace === undefined ? undefined : [[anchor?.metadata.uid, true]];
      if (JSON.stringify(owners) !== JSON.stringify(wanted))
        unowned.push(`${manifest.kind} ${name}`);
    }
    expect(manifests.length).toBeGreaterThan(70);
    expect(missing).toEqual([]);
    expect(unowned).toEqual([]);
  });

  test.each(kinds)("%s: was one write an object, and few other requests", async (kind) => {
    const spoke = spokeOf(kind);
    const objects = (await renderedOf(kind)).length;
    const requests = await requestsTo(spoke);
    const writes = requests.filter(({ verb }) => ["patch", "create", "update"].includes(verb));
    const perObject = new Map<string, number>();
    // A CR is refused until its CRD is served; that is no write.
    for (const { resource, namespace, name, code } of writes) {
      const id = [resource, namespace, name].join("/");
      if (code < 300) perObject.set(id, (perObject.get(id) ?? 0) + 1);
    }
    const anchorId = `configmaps/${componentKinds[kind].label}/${anchorNameOf({ kind, name: componentKinds[kind].label })}`;
    // The intent before the first write and the record of completion after the last one.
    expect(perObject.get(anchorId)).toBe(2);
    perObject.delete(anchorId);
    expect([...perObject].filter(([, count]) => count > 1)).toEqual([]);
    // How often a CR is refused depends on how soon the server serves its CRD.
    const asked = requests.filter(
      ({ verb, code }) => verb !== "watch" && !(verb === "patch" && code === 404),
    );
    expect(asked.length).toBeLessThanOrEqual(1.1 * objects);
  });

  test("a second reconcile writes nothing, also by a controller that starts anew", async () => {
    const { hub, fleet } = scene();
    const since = new Date();
    const reconcileAgain = async (version: string): Promise<void> => {
      // The same release under another name: a new generation that changes no object.
      await Promise.all(kinds.map((kind) => change(hub, kind, { version })));
      await Promise.all(kinds.map((kind) => observed(hub, kind)));
      await bothReady();
    };
    await reconcileAgain("1.23.1");
    await scene().controller[Symbol.asyncDispose]();
    scene().controller = await scene().startController();
    await reconcileAgain("1.23");
    const writes = await Promise.all(
      fleet.spokes.flatMap((spoke) => [writesTo(spoke, since), guardWritesTo(spoke, since)]),
    );
    expect(writes.flat().map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  });

  test("a deleted Deployment is back at once", async () => {
    const spoke = spokeOf("KnativeServing");
    const key = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace: "knative-serving",
      name: "activator",
    };
    const deleted = await spoke.admin.get(key);
    await spoke.admin.remove(key);
    const back = await waitFor(
      "the Deployment to be back",
      async () => {
        const live = await spoke.admin.get(key);
        return live?.metadata.uid !== deleted?.metadata.uid && live;
      },
      { timeoutMs: 60_000 },
    );
    expect(back.metadata.ownerReferences).toEqual(deleted?.metadata.ownerReferences);
    await ready(scene().hub, "KnativeServing");
  });

  test("a changed Deployment is as it was at once, and what others added stays", async () => {
    const spoke = spokeOf("KnativeEventing");
    const key = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace: "knative-eventing",
      name: "eventing-controller",
    };
    const path = ["spec", "template", "spec", "containers", 0, "image"] as const;
    const original = await spoke.admin.get(key);
    const image = valueAt(original, ...path);
    const containers = [{ name: "eventing-controller", image: "example.test/wrong:1" }];
    await spoke.admin.apply({
      apiVersion: key.apiVersion,
      kind: key.kind,
      metadata: { namespace: key.namespace, name: key.name, labels: { mine: "stays" } },
      spec: { template: { spec: { containers } } },
    });
    await waitFor(
      "the image to be as it was",
      async () => valueAt(await spoke.admin.get(key), ...path) === image,
      { timeoutMs: 60_000 },
    );
    expect((await spoke.admin.get(key))?.metadata).toMatchObject({
      uid: original?.metadata.uid,
      labels: { mine: "stays" },
    });
  });

  test("nothing but watch traffic reaches a steady spoke", async () => {
    await bothReady();
    const since = new Date(Date.now() + 2_000);
    await new Promise((resolve) => setTimeout(resolve, 2_000 + steadyMs));
    for (const spoke of scene().fleet.spokes) {
      const requests = await requestsTo(spoke, since);
      expect(requests.filter(({ verb }) => verb !== "watch").map(({ uri }) => uri)).toEqual([]);
    }
  });

  test("a removal leaves the CRDs and the namespace, and nothing else", async () => {
    const { hub } = scene();
    const uids = await Promise.all(
      kinds.map(async (kind) => (await read(hub, kind))?.metadata.uid),
    );
    await Promise.all(kinds.map((kind) => remove(hub, kind)));
    await Promise.all(kinds.map((kind) => gone(hub, kind)));
    for (const [index, kind] of kinds.entries()) {
      const spoke = spokeOf(kind);
      expect(await anchorOf(spoke, kind)).toBeUndefined();
      expect(await installed(spoke, String(uids[index]))).toEqual([]);
      await expect
        .poll(() => leftovers(spoke, before.get(spoke) ?? new Set()), { timeout: 60_000 })
        .toEqual([]);
      const crds = [...(await inventoryOf(spoke))].filter((id) => id.endsWith("knative.dev"));
      expect(crds.length).toBeGreaterThan(10);
    }
  });
});

describe("two components on one spoke", () => {
  // Both are removed by what the watches show: get and patch of the anchor, one deletion a collection, delete of the anchor.
  test.each([
    ["KnativeServing", "KnativeEventing", 19],
    ["KnativeEventing", "KnativeServing", 19],
  ] as const)(
    "D-03, D-54: %s goes as a whole, %s stays as it was, and that takes %i requests, a look or two whether it is gone, and no list",
    async (leaving, staying, expected) => {
      const { hub, fleet, profiles } = scene();
      const spoke = fleet.spoke(0);
      const [going, kept] = await Promise.all([
        create(hub, { kind: leaving, on: profiles[0] }),
        create(hub, { kind: staying, on: profiles[0] }),
      ]);
      await Promise.all([
        ready(hub, leaving),
        ready(hub, staying),
        kindServed(spoke, customs[leaving]),
      ]);
      const metadata = { namespace: componentKinds[leaving].label, name: "of-a-user" };
      const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata };
      const users = await Promise.all(
        [configMap, { ...customs[leaving], metadata }].map((one) => spoke.admin.create(one)),
      );
      const before = await dumpOfComponent(spoke, kept.metadata.uid);
      const ours = generations(await installed(spoke, kept.metadata.uid));
      const since = new Date();
      await remove(hub, leaving);
      await gone(hub, leaving);

      const all = (await requestsTo(spoke, since)).filter(({ verb }) => verb !== "watch");
      const requests = all.filter((request) => !isOfLabel(request));
      // The namespaces with the guard's label, and for each of ours: is an anchor left in it, and off with the label.
      expect(all.length - requests.length).toBeLessThanOrEqual(5);
      expect(await dumpOfComponent(spoke, going.metadata.uid)).toEqual({});
      expect(await anchorOf(spoke, leaving)).toBeUndefined();
      expect(differencesOf(before, await dumpOfComponent(spoke, kept.metadata.uid))).toEqual([]);
      expect(generations(await installed(spoke, kept.metadata.uid))).toEqual(ours);
      const writes = await writesTo(spoke, since);
      const inTheOther = writes.filter(
        ({ namespace }) => namespace === componentKinds[staying].label,
      );
      expect(inTheOther).toEqual([]);
      const stayed = await Promise.all(users.map((one) => spoke.admin.get(keyOf(one))));
      expect(stayed).toEqual(users);
      const definitions = await spoke.admin.list({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
      });
      expect(definitions.length).toBeGreaterThanOrEqual(30);
      expect(requests.filter(({ verb }) => verb === "list")).toEqual([]);
      const webhooks = requests.findLastIndex(({ resource }) => resource.includes("webhookconf"));
      const others = requests.findIndex(
        ({ verb, resource }) => verb === "deletecollection" && !resource.includes("webhookconf"),
      );
      expect(webhooks).toBeLessThan(others);
      const anchor = requests.findLastIndex(({ verb }) => verb === "delete");
      expect(anchor + 1).toBe(expected);
      // Whether it is gone is asked once, or twice when its watch asks too.
      expect(requests.slice(anchor + 1).map(({ verb }) => verb)).toSatisfy(
        (verbs: readonly string[]) => verbs.length <= 2 && verbs.every((verb) => verb === "get"),
      );

      await remove(hub, staying);
      await gone(hub, staying);
      expect(await dumpOfComponent(spoke, kept.metadata.uid)).toEqual({});
    },
  );
});

/** What the end of a protected namespace needs; see anchor-guard.md 6.3, step 6. */
function isOfLabel({ verb, resource, name }: AuditedRequest): boolean {
  if (verb === "patch") return resource === "namespaces";
  return verb === "list" && name === "" && ["namespaces", "configmaps"].includes(resource);
}
