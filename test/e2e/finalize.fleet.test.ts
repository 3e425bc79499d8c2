import { expect, test } from "vitest";

import { anchorNameOf } from "../../api/anchor.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { create, condition, gone, installed, read, ready, remove } from "./installation.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: 2 });

const anchor = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: "knative-eventing",
  name: anchorNameOf({ kind: "KnativeEventing", name: "knative-eventing" }),
};

test("a controller that is killed right after the delete finishes it when it starts again", async () => {
  const { hub, fleet, profiles } = scene();
  const spoke = fleet.spoke(0);
  const { metadata } = await create(hub, { kind: "KnativeEventing", on: profiles[0] });
  await ready(hub, "KnativeEventing");
  await remove(hub, "KnativeEventing");
  await scene().controller.kill();
  expect(await read(hub, "KnativeEventing")).toBeDefined();
  scene().controller = await scene().startController();
  await gone(hub, "KnativeEventing");
  expect(await installed(spoke, metadata.uid)).toEqual([]);
  expect(await spoke.admin.get(anchor)).toBeUndefined();
});

test("a delete waits for a spoke that cannot be reached for 20 s, says so, and then finishes", async () => {
  const { hub, fleet, profiles } = scene();
  const spoke = fleet.spoke(1);
  const { metadata } = await create(hub, { kind: "KnativeEventing", on: profiles[1] });
  await ready(hub, "KnativeEventing");
  await spoke.proxy.setMode("refuse");
  const away = Date.now();
  await remove(hub, "KnativeEventing");
  const waiting = await condition(hub, "KnativeEventing", [
    "TargetClusterResolved",
    { status: "Unknown", reason: "SpokeUnreachable", message: /^\[Unreachable\]/ },
    18_000,
  ]);
  expect(waiting.metadata.deletionTimestamp).toBeDefined();
  expect(waiting.metadata.finalizers).toEqual(["knativeeventings.operator.knative.dev"]);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, 20_000 - (Date.now() - away))));
  expect(conditionOf(await read(hub, "KnativeEventing"), "Ready")?.status).not.toBe("True");
  expect((await installed(spoke, metadata.uid)).length).toBeGreaterThan(100);
  await spoke.proxy.setMode("open");
  await gone(hub, "KnativeEventing");
  expect(await installed(spoke, metadata.uid)).toEqual([]);
  expect(await spoke.admin.get(anchor)).toBeUndefined();
});

test("a component whose ClusterProfile is gone keeps its finalizer until the profile is back", async () => {
  const { hub, fleet, profiles } = scene();
  const spoke = fleet.spoke(0);
  const { metadata } = await create(hub, { kind: "KnativeEventing", on: profiles[0] });
  await ready(hub, "KnativeEventing");
  await profiles[0]?.remove();
  await remove(hub, "KnativeEventing");
  await condition(hub, "KnativeEventing", [
    "TargetClusterResolved",
    { status: "False", reason: "ClusterProfileNotFound" },
  ]);
  expect((await installed(spoke, metadata.uid)).length).toBeGreaterThan(100);
  await fleet.addProfile(spoke, { plugin: "secretreader" });
  await gone(hub, "KnativeEventing");
  expect(await installed(spoke, metadata.uid)).toEqual([]);
});
