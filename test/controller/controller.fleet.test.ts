import { resolve } from "node:path";

import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { operatorApiVersion } from "../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { writesTo } from "../e2e/requests.ts";
import type { Profile } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";

const releaseDir = resolve(import.meta.dirname, "../fixtures/release");
const userAgent = "knfleet-controller";
const fleet = useFleet({ spokes: 1 });
let profile: Profile;

beforeAll(async () => {
  profile = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
});

afterEach(async () => {
  fleet().spoke(0).proxy.setRtt(0);
  // Whatever a test left must not meet the next one.
  await using _cleaner = await controller();
  const { admin } = fleet().hub;
  const left = await admin.list({ apiVersion: operatorApiVersion, kind: "KnativeEventing" });
  await Promise.all(left.map(({ metadata }) => admin.remove(keyOf(metadata))));
  await Promise.all(left.map(({ metadata }) => gone(keyOf(metadata))));
}, 600_000);

function keyOf({ namespace, name }: KubeObject["metadata"]): ObjectKey {
  return { apiVersion: operatorApiVersion, kind: "KnativeEventing", namespace, name };
}

async function controller(): Promise<ControllerProcess> {
  const kubeconfig = await fleet().controllerKubeconfig();
  return startControllerProcess({
    kubeconfig,
    releaseDir,
    providerFile: await fleet().providerFile(),
    flags: ["--log-level=debug"],
  });
}

/** A KnativeEventing for the spoke, in a namespace of its own. */
async function create(
  namespace: string,
  spec: object = { clusterProfileRef: ref() },
): Promise<ObjectKey> {
  const { admin } = fleet().hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const key = {
    apiVersion: operatorApiVersion,
    kind: "KnativeEventing",
    namespace,
    name: "eventing",
  };
  const { apiVersion, kind, name } = key;
  await admin.create({ apiVersion, kind, metadata: { namespace, name }, spec });
  return key;
}

function ref(): object {
  return { namespace: profile.namespace, name: profile.name };
}

function get(key: ObjectKey): Promise<KubeObject | undefined> {
  return fleet().hub.admin.get(key);
}

async function gone(key: ObjectKey): Promise<void> {
  await waitFor(`${key.namespace} to be gone`, async () => (await get(key)) === undefined);
}

/** Waits until a condition is as in `Ready=True` or `Ready=False Reason`. */
async function says(key: ObjectKey, wanted: string): Promise<KubeObject> {
  const [type = ""] = wanted.split("=");
  return waitFor(`${wanted} in ${key.namespace}`, async () => {
    const object = await get(key);
    const { status, reason } = conditionOf(object, type) ?? {};
    const is = `${type}=${String(status)}`;
    return [is, `${is} ${String(reason)}`].includes(wanted) && object;
  });
}

async function installedObjects({ metadata }: KubeObject): Promise<readonly KubeObject[]> {
  const labelSelector = `${componentUidLabel}=${metadata.uid}`;
  const { admin } = fleet().spoke(0);
  const kinds = [
    { apiVersion: "apps/v1", kind: "Deployment" },
    { apiVersion: "v1", kind: "ConfigMap" },
    { apiVersion: "v1", kind: "ServiceAccount" },
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
  ];
  const lists = await Promise.all(kinds.map((kind) => admin.list({ ...kind, labelSelector })));
  return lists.flat();
}

async function eventReasons(namespace: string): Promise<readonly unknown[]> {
  const events = await fleet().hub.admin.list({ apiVersion: "v1", kind: "Event", namespace });
  return events.map((event) => event["reason"]);
}

describe("a component", () => {
  test("shows a status before it is installed, and is held before anything is written to its spoke", async () => {
    await using _controller = await controller();
    const key = await create("status");
    await says(key, "Ready=True");
    const { hub } = fleet();
    const filter = { namespace: "status", name: "eventing" };
    const ours = await hub.auditLog.requests({ ...filter, userAgent });
    const [held] = ours.filter(({ verb }) => verb === "patch");
    const [status] = ours.filter(({ subresource }) => subresource === "status");
    const writes = await fleet()
      .spoke(0)
      .auditLog.requests({ userAgent, verb: ["create", "patch"], namespace: "knative-eventing" });
    expect(writes.length).toBeGreaterThan(0);
    const lastWriteAt = Math.max(...writes.map(({ answeredAt }) => answeredAt.getTime()));
    expect(status?.receivedAt.getTime() ?? Infinity).toBeLessThan(lastWriteAt);
    for (const { receivedAt } of writes) {
      expect(receivedAt.getTime()).toBeGreaterThanOrEqual(held?.answeredAt.getTime() ?? Infinity);
    }
    await expect
      .poll(() => eventReasons("status"), { timeout: 60_000 })
      .toEqual(expect.arrayContaining(["FinalizerUpdate", "Installed", "Ready"]));
  });

  test("that is ready is not touched when the controller starts again", async () => {
    const first = await controller();
    const key = await create("again");
    const ready = await says(key, "Ready=True");
    await first.stop();
    const since = new Date();
    await using second = await controller();
    await second.logged({ level: "debug", msg: "Reconciled, nothing new" });
    expect(await writesTo(fleet().spoke(0), since)).toEqual([]);
    expect(await writesTo(fleet().hub, since)).toEqual([]);
    expect((await get(key))?.metadata.resourceVersion).toBe(ready.metadata.resourceVersion);
  });

  test("whose status somebody else wiped gets it back", async () => {
    await using _controller = await controller();
    const key = await create("wiped");
    const ready = await says(key, "Ready=True");
    await fleet().hub.admin.patch(
      key,
      { status: { conditions: null, version: null } },
      { subresource: "status" },
    );
    const again = await says(key, "Ready=True");
    expect(valueAt(again, "status", "version")).toBe(valueAt(ready, "status", "version"));
  });

  test("that is deleted in the middle of its installation leaves nothing", async () => {
    await using running = await controller();
    fleet().spoke(0).proxy.setRtt(300);
    const key = await create("hasty");
    const component = await says(key, "TargetClusterResolved=True");
    await fleet().hub.admin.remove(key);
    await gone(key);
    expect(await installedObjects(component)).toEqual([]);
    expect(running.logLines({ level: "error" })).toEqual([]);
  });

  test("without a provider file says so, and goes on when there is one", async () => {
    const kubeconfig = await fleet().controllerKubeconfig();
    const without = await startControllerProcess({ kubeconfig, releaseDir });
    const key = await create("no-file");
    await says(key, "Ready=False AccessProviderNotConfigured");
    await waitFor("the Event", async () =>
      (await eventReasons("no-file")).includes("AccessProviderNotConfigured"),
    );
    await without.stop();
    await using _with = await controller();
    const ready = await says(key, "Ready=True");
    expect(conditionOf(ready, "TargetClusterResolved")).toMatchObject({ status: "True" });
  });
});

describe("the younger one of two components on one spoke", () => {
  test("touches nothing, also when it goes, and follows when the older one went", async () => {
    await using _controller = await controller();
    const older = await create("older");
    await says(older, "Ready=True");
    const younger = await create("younger");
    const refused = await says(younger, "Ready=False DuplicateComponent");
    expect(await installedObjects(refused)).toEqual([]);

    await fleet().hub.admin.remove(younger);
    await gone(younger);
    expect(conditionOf(await get(older), "Ready")?.status).toBe("True");

    const next = await create("next");
    await says(next, "Ready=False DuplicateComponent");
    await fleet().hub.admin.remove(older);
    await gone(older);
    await says(next, "Ready=True");
  });
});

describe("a controller that is told to stop", () => {
  test("in the middle of an installation ends, and the next one finishes it", async () => {
    const first = await controller();
    fleet().spoke(0).proxy.setRtt(300);
    const key = await create("stopped");
    await says(key, "TargetClusterResolved=True");
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    expect(first.stderr).toBe("");
    fleet().spoke(0).proxy.setRtt(0);
    await using _second = await controller();
    await says(key, "Ready=True");
  });
});
