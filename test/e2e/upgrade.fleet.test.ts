// @module-tag release-files
import { beforeAll, describe, expect, test } from "vitest";

import { type ComponentKind, componentKinds } from "../../api/component.ts";
import {
  describe as nameOf,
  keyOf,
  type KubeObject,
  type ObjectKey,
} from "../../api/kubernetes.ts";
import { ingressStandIns } from "../controller/hand-made-installation.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { dumpOfComponent } from "../support/spoke-dump.ts";
import {
  change,
  condition,
  create,
  gone,
  installed,
  observed,
  read,
  ready,
  remove,
} from "./installation.ts";
import { requestsTo, writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: 1 });

beforeAll(async () => {
  const { admin } = scene().fleet.spoke(0);
  await Promise.all(ingressStandIns.map((manifest) => admin.apply(manifest)));
});

/** Changes the spec and waits until that is installed and ready. */
async function changed(
  kind: ComponentKind,
  spec: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { hub } = scene();
  await change(hub, kind, spec);
  await observed(hub, kind);
  await waitFor(
    `${kind} to be ready`,
    async () => {
      const component = await read(hub, kind);
      const wanted = String(valueAt(component, "spec", "version"));
      const version = String(valueAt(component, "status", "version"));
      const generation = valueAt(component, "status", "observedGeneration");
      return version.startsWith(wanted) && generation === component?.metadata.generation;
    },
    { timeoutMs: 60_000 },
  );
  await ready(hub, kind);
}

/** Name and generation of every workload of a component. */
async function generationsOf(uid: string): Promise<Readonly<Record<string, number | undefined>>> {
  const objects = await installed(scene().fleet.spoke(0), uid);
  const workloads = objects.filter(({ kind }) => kind === "Deployment" || kind === "StatefulSet");
  return Object.fromEntries(
    workloads.map(({ metadata }) => [metadata.name, metadata.generation] as const),
  );
}

async function namesOf(uid: string, kind: string): Promise<readonly string[]> {
  const objects = await installed(scene().fleet.spoke(0), uid);
  return objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
}

function jobCreations(since: Date): Promise<readonly string[]> {
  return writesTo(scene().fleet.spoke(0), since).then((writes) =>
    writes
      .filter(({ resource, verb }) => resource === "jobs" && verb === "patch")
      .map(({ name }) => name),
  );
}

function isWebhook({ resource }: { readonly resource: string }): boolean {
  return resource.endsWith("webhookconfigurations");
}

describe("KnativeEventing", () => {
  let component: KubeObject;

  beforeAll(async () => {
    const { hub, profiles } = scene();
    component = await create(hub, {
      kind: "KnativeEventing",
      on: profiles[0],
      spec: { version: "1.22", source: { github: { enabled: true } } },
    });
    await ready(hub, "KnativeEventing");
  });

  test("D-12: Jobs run once for each version that is installed, up and one minor down, and not again when they are gone", async () => {
    const { uid } = component.metadata;
    const began = new Date();
    await changed("KnativeEventing", { version: "1.23" });
    const up = await namesOf(uid, "Job");
    expect(up.length).toBeGreaterThan(0);
    expect(up.every((name) => name.endsWith("-1.23.0"))).toBe(true);
    expect((await jobCreations(began)).toSorted()).toEqual(up.toSorted());

    const { admin } = scene().fleet.spoke(0);
    for (const name of up) {
      const key = { apiVersion: "batch/v1", kind: "Job", namespace: "knative-eventing", name };
      await waitFor(
        `${name} to finish`,
        async () => conditionOf(await admin.get(key), "Complete")?.status === "True",
        { timeoutMs: 60_000 },
      );
      await admin.remove(key);
    }
    const later = new Date();
    await changed("KnativeEventing", { config: { tracing: { backend: "none" } } });
    expect(await jobCreations(later)).toEqual([]);

    const back = new Date();
    await changed("KnativeEventing", { version: "1.22", config: null });
    const down = await namesOf(uid, "Job");
    expect(down.length).toBeGreaterThan(0);
    expect(down.every((name) => name.includes("-1.22."))).toBe(true);
    expect((await jobCreations(back)).toSorted()).toEqual(down.toSorted());
  });

  test("a source that is added or removed and a changed ConfigMap restart nothing that was there", async () => {
    const { uid } = component.metadata;
    const before = await dumpOfComponent(scene().fleet.spoke(0), uid);
    const generations = await generationsOf(uid);
    await changed("KnativeEventing", { source: { ceph: { enabled: true } } });
    const added = await generationsOf(uid);
    expect(added).toEqual({ ...generations, ...added });
    expect(Object.keys(added).length).toBeGreaterThan(Object.keys(generations).length);
    await changed("KnativeEventing", { config: { logging: { "loglevel.controller": "debug" } } });
    expect(await generationsOf(uid)).toEqual(added);
    await changed("KnativeEventing", { config: null, source: { ceph: null } });
    expect(await generationsOf(uid)).toEqual(generations);
    expect(await dumpOfComponent(scene().fleet.spoke(0), uid)).toEqual(before);
  });

  test("an obsolete object that a finalizer holds is named, stays in the inventory over a restart, and is forgotten when it is gone", async () => {
    const { hub, fleet, controller } = scene();
    const { admin } = fleet.spoke(0);
    const { uid } = component.metadata;
    const accounts = await namesOf(uid, "ServiceAccount");
    await changed("KnativeEventing", { source: { ceph: { enabled: true } } });
    const added = (await namesOf(uid, "ServiceAccount")).filter((one) => !accounts.includes(one));
    const [name = ""] = added;
    const key = { apiVersion: "v1", kind: "ServiceAccount", namespace: "knative-eventing", name };
    await admin.patch(key, { metadata: { finalizers: ["example.com/hold"] } });
    await change(hub, "KnativeEventing", { source: { ceph: null } });
    const held = new RegExp(
      `ServiceAccount knative-eventing/${name}: Obsolete and being deleted, held by finalizer example.com/hold`,
    );
    await condition(hub, "KnativeEventing", [
      "InstallSucceeded",
      { status: "Unknown", message: held },
    ]);
    await controller.kill();
    scene().controller = await scene().startController();
    await change(hub, "KnativeEventing", { config: { tracing: { backend: "none" } } });
    await observed(hub, "KnativeEventing");
    await condition(hub, "KnativeEventing", ["Ready", { status: "Unknown", message: held }]);
    await admin.patch(key, { metadata: { finalizers: null } });
    await ready(hub, "KnativeEventing");
    expect(await admin.get(key)).toBeUndefined();
    await changed("KnativeEventing", { config: null });
  });

  test("a registry that concerns one image restarts that Deployment alone", async () => {
    const { uid } = component.metadata;
    const before = await generationsOf(uid);
    const override = { "imc-controller/controller": "registry.example.com/own:1" };
    await changed("KnativeEventing", { registry: { override } });
    const after = await generationsOf(uid);
    const restarted = Object.keys(after).filter((name) => after[name] !== before[name]);
    expect(restarted).toEqual(["imc-controller"]);
  });

  test("a registry for all images restarts each workload that has another image by it, once, and no other", async () => {
    const { uid } = component.metadata;
    const before = await generationsOf(uid);
    expect(Object.keys(before).length).toBeGreaterThan(5);
    await changed("KnativeEventing", { registry: { default: "registry.example.com/${NAME}:1" } });
    const moved = await generationsOf(uid);
    // Also imc-controller, whose own image is named by itself: it is told the image of the dispatchers that it makes.
    const once = Object.entries(before).map(([name, at = 0]) => [name, at + 1] as const);
    expect(moved).toEqual(Object.fromEntries(once));
    const same = { "imc-dispatcher/dispatcher": "registry.example.com/channel_dispatcher:1" };
    await changed("KnativeEventing", { registry: { override: same } });
    expect(await generationsOf(uid)).toEqual(moved);
  });

  test("goes with everything that any of its versions and sources brought", async () => {
    const { hub, fleet } = scene();
    await remove(hub, "KnativeEventing");
    await gone(hub, "KnativeEventing");
    expect(await dumpOfComponent(fleet.spoke(0), component.metadata.uid)).toEqual({});
    const roles = await fleet.spoke(0).admin.list({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
    });
    expect(
      roles.filter(({ metadata }) => /ceph|github|knative|eventing/.test(metadata.name)),
    ).toEqual([]);
  });
});

describe("KnativeServing", () => {
  const gateway: ObjectKey = {
    apiVersion: "v1",
    kind: "Service",
    namespace: "istio-system",
    name: "knative-local-gateway",
  };
  let component: KubeObject;

  beforeAll(async () => {
    const { hub, profiles } = scene();
    component = await create(hub, {
      kind: "KnativeServing",
      on: profiles[0],
      spec: {
        ingress: { istio: { enabled: true } },
        config: {},
        security: { securityGuard: { enabled: true } },
      },
    });
    await ready(hub, "KnativeServing");
  });

  async function objectsOf(): Promise<ReadonlyMap<string, KubeObject>> {
    const objects = await installed(scene().fleet.spoke(0), component.metadata.uid);
    return new Map(objects.map((object) => [nameOf(keyOf(object)), object]));
  }

  test("D-13: a security guard that is switched off leaves nothing", async () => {
    const before = await objectsOf();
    expect([...before.keys()].filter((name) => name.includes("guard"))).not.toEqual([]);
    await changed("KnativeServing", { security: { securityGuard: { enabled: false } } });
    expect([...(await objectsOf()).keys()].filter((name) => name.includes("guard"))).toEqual([]);
  });

  test("D-05, D-08: an ingress that is switched goes in every scope although the new one never gets ready", async () => {
    const { hub, fleet } = scene();
    const { admin } = fleet.spoke(0);
    const { uid } = component.metadata;
    expect(await admin.get(gateway)).toBeDefined();
    const generations = await generationsOf(uid);
    const since = new Date();
    await change(hub, "KnativeServing", {
      ingress: { istio: { enabled: false }, contour: { enabled: true } },
      workloads: [{ name: "net-contour-controller", nodeSelector: { "example.com/none": "here" } }],
    });
    await condition(hub, "KnativeServing", [
      "DeploymentsAvailable",
      { status: "False", message: /net-contour-controller/ },
    ]);
    await waitFor("everything of Istio to be gone", async () => {
      const names = [...(await objectsOf()).keys()];
      return (
        !names.some((name) => name.includes("istio")) && (await admin.get(gateway)) === undefined
      );
    });
    const left = await generationsOf(uid);
    const stayed = Object.keys(left).filter((name) => name in generations);
    expect(stayed.length).toBeGreaterThan(4);
    for (const name of stayed) expect([name, left[name]]).toEqual([name, generations[name]]);
    const deletions = (await requestsTo(fleet.spoke(0), since)).filter(
      ({ verb }) => verb === "delete",
    );
    const first = deletions.findIndex((request) => !isWebhook(request));
    expect(deletions.slice(0, first).length).toBeGreaterThan(0);
    expect(deletions.slice(first).filter(isWebhook)).toEqual([]);
    await changed("KnativeServing", { workloads: null });
  });

  test.each(["gateway-api", "kourier", "istio"])(
    "has nothing of another ingress after a switch to %s",
    async (name) => {
      const others = ["gateway-api", "kourier", "istio", "contour"].filter((one) => one !== name);
      const off = Object.fromEntries(others.map((one) => [one, { enabled: false }]));
      await changed("KnativeServing", { ingress: { ...off, [name]: { enabled: true } } });
      const mine = new RegExp(others.map((other) => `net-${other}|${other}-`).join("|"));
      const names = [...(await objectsOf()).keys()];
      expect(names.filter((one) => mine.test(one))).toEqual([]);
      expect(names.filter((one) => one.includes(`net-${name}`))).not.toEqual([]);
    },
  );

  test("D-08: the gateway's Service in Istio's namespace goes with the component, the namespace stays", async () => {
    const { hub, fleet } = scene();
    const { admin } = fleet.spoke(0);
    expect(await admin.get(gateway)).toBeDefined();
    await remove(hub, "KnativeServing");
    await gone(hub, "KnativeServing");
    expect(await admin.get(gateway)).toBeUndefined();
    expect(await dumpOfComponent(fleet.spoke(0), component.metadata.uid)).toEqual({});
    const namespaces = ["istio-system", componentKinds.KnativeServing.label];
    for (const name of namespaces) {
      expect(await admin.get({ apiVersion: "v1", kind: "Namespace", name })).toBeDefined();
    }
  });
});
