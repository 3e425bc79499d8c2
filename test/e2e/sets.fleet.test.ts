import { expect, test } from "vitest";

import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
  breakSpoke,
  childrenOf,
  eventsOf,
  imageOn,
  mendSpoke,
  phase,
  setKey,
  setOf,
  useSetScene,
  versionsOf,
  versionTemplate,
} from "./set-scene.ts";

const scene = useSetScene();

test("a set installs on all clusters, a canary that fails halts the upgrade, and a mended one lets it go on", async () => {
  const { hub, fleet, profiles } = scene();
  const names = profiles.map(({ name }) => name);
  await hub.admin.create(setOf("prod", {}));
  const installed = await phase(hub, "prod", "Complete");
  expect(valueAt(installed, "status", "clusters")).toMatchObject({ selected: 3, done: 3 });
  expect(await versionsOf(hub, "prod")).toEqual(
    Object.fromEntries(names.map((name) => [name, "1.22"])),
  );

  await breakSpoke(fleet.spoke(0));
  await hub.admin.patch(setKey("prod"), { spec: versionTemplate("1.23") });
  const halted = await phase(hub, "prod", "Halted");
  expect(valueAt(halted, "status", "rollout", "stage")).toBe("canary");
  expect(await versionsOf(hub, "prod")).toEqual({
    [names[0] ?? ""]: "1.23",
    [names[1] ?? ""]: "1.22",
    [names[2] ?? ""]: "1.22",
  });
  expect(await Promise.all([1, 2].map((at) => imageOn(fleet.spoke(at))))).toEqual([
    "1.22.0",
    "1.22.0",
  ]);
  expect(await eventsOf(hub, "prod", "Halted")).toHaveLength(1);

  await mendSpoke(fleet.spoke(0));
  const complete = await phase(hub, "prod", "Complete");
  expect(valueAt(complete, "status", "currentRevision")).toBe(
    valueAt(complete, "status", "updateRevision"),
  );
  expect(await Promise.all([0, 1, 2].map((at) => imageOn(fleet.spoke(at))))).toEqual([
    "1.23.0",
    "1.23.0",
    "1.23.0",
  ]);
  expect(await eventsOf(hub, "prod", "Complete")).toHaveLength(2);

  await hub.admin.remove(setKey("prod"));
  await waitFor(
    "the set to be gone",
    async () => (await hub.admin.get(setKey("prod"))) === undefined,
    { timeoutMs: 120_000 },
  );
  expect(await childrenOf(hub, "prod")).toEqual(new Map());
  expect(scene().controller.logLines({ level: "error" })).toEqual([]);
}, 600_000);
