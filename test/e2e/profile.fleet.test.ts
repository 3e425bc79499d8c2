import { expect, test } from "vitest";

import type { ObjectKey } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { dumpOfComponent } from "../support/spoke-dump.ts";
import { change, condition, create, installed, observed, read, ready } from "./installation.ts";
import { requestsTo, writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";

// What is not ready is looked at again after an hour: all that follows is told by watches.
const scene = useScene({ spokes: 1 }, { flags: ["--remote-deployments-poll-interval=1h"] });

const kind = "KnativeEventing";
const resolved = "TargetClusterResolved";
const features: ObjectKey = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: "knative-eventing",
  name: "config-features",
};

test("a component waits for a ClusterProfile that is created later", async () => {
  const { hub, fleet } = scene();
  await create(hub, { kind, on: { namespace: "fleet", name: "later" } });
  await condition(hub, kind, [resolved, { status: "False", reason: "ClusterProfileNotFound" }]);
  const profile = await fleet.addProfile(fleet.spoke(0), {
    plugin: "secretreader",
    name: "later",
    healthy: "missing",
  });
  await condition(hub, kind, [resolved, { status: "False", reason: "ClusterProfileNotReady" }]);
  await profile.update({ healthy: true });
  await condition(hub, kind, [resolved, { status: "True" }]);
  const { metadata } = await ready(hub, kind);
  const count = async () => (await installed(fleet.spoke(0), metadata.uid)).length;
  const before = await count();

  await profile.update({ healthy: false });
  await condition(hub, kind, [resolved, { status: "False", reason: "ClusterProfileNotReady" }]);
  await condition(hub, kind, ["Ready", { status: "False" }]);
  expect(await count()).toBe(before);
  await profile.update({ healthy: true });
  await ready(hub, kind);

  // A new endpoint: what follows goes there, and nothing goes the old way any more.
  const { admin, proxy } = fleet.spoke(0);
  expect(proxy.openConnections).toBeGreaterThan(0);
  const since = new Date();
  await profile.update({ via: "direct" });
  await expect
    .poll(async () => (await requestsTo(fleet.spoke(0), since)).length)
    .toBeGreaterThan(0);
  await ready(hub, kind);
  await expect.poll(() => proxy.openConnections, { timeout: 60_000 }).toBe(0);
  const counts = proxy.counts;
  await admin.remove(features);
  await waitFor("it to be back", async () => (await admin.get(features)) !== undefined);
  expect(proxy.counts).toEqual(counts);

  // A wrong endpoint is reported with its cause, and a right one ends it.
  await profile.update({ via: "https://127.0.0.1:1" });
  await condition(hub, kind, [resolved, { status: "False", reason: "RemoteClientCreationFailed" }]);
  await profile.update({ via: "proxy" });
  await ready(hub, kind);

  await profile.remove();
  await condition(hub, kind, [resolved, { status: "False", reason: "ClusterProfileNotFound" }]);
  // Another version brings and takes objects, but where its cluster is nobody says.
  const dump = await dumpOfComponent(fleet.spoke(0), metadata.uid);
  const lost = new Date();
  const { generation } = (await change(hub, kind, { version: "1.22" })).metadata;
  await scene().controller.logged({ level: "error", msg: "Reconcile failed", generation });
  await observed(hub, kind);
  expect(await writesTo(fleet.spoke(0), lost)).toEqual([]);
  expect(await dumpOfComponent(fleet.spoke(0), metadata.uid)).toEqual(dump);
  expect((await read(hub, kind))?.metadata.deletionTimestamp).toBeUndefined();
  expect(valueAt(await read(hub, kind), "status", "version")).toBe("1.23.1");
});
