import { expect, test } from "vitest";

import { conditionOf } from "../fleet/json-record.ts";
import { condition, create, gone, installed, read, ready, remove } from "./installation.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: 2 });

test("a frozen spoke does not hold the others, is reported within 30 s, and recovers", async () => {
  const { hub, fleet, profiles } = scene();
  await create(hub, { kind: "KnativeServing", on: profiles[0] });
  await ready(hub, "KnativeServing");
  fleet.spoke(0).pause();
  const frozenAt = Date.now();
  try {
    await create(hub, { kind: "KnativeEventing", on: profiles[1] });
    await ready(hub, "KnativeEventing", 25_000);
    const lost = await condition(hub, "KnativeServing", [
      "TargetClusterResolved",
      { status: "False", reason: "RemoteClientCreationFailed", message: /^\[Unreachable\]/ },
      30_000 - (Date.now() - frozenAt),
    ]);
    expect(conditionOf(lost, "Ready")?.status).not.toBe("True");
    expect(conditionOf(await read(hub, "KnativeEventing"), "Ready")?.status).toBe("True");
  } finally {
    fleet.spoke(0).resume();
  }
  await ready(hub, "KnativeServing", 30_000);
});

test("a component that is created while its spoke is frozen says so, and is installed afterwards", async () => {
  const { hub, fleet, profiles } = scene();
  await remove(hub, "KnativeEventing");
  await gone(hub, "KnativeEventing");
  fleet.spoke(1).pause();
  try {
    await create(hub, { kind: "KnativeEventing", on: profiles[1] });
    await condition(hub, "KnativeEventing", [
      "TargetClusterResolved",
      { status: "False", reason: "RemoteClientCreationFailed" },
      30_000,
    ]);
  } finally {
    fleet.spoke(1).resume();
  }
  const component = await ready(hub, "KnativeEventing", 60_000);
  expect((await installed(fleet.spoke(1), component.metadata.uid)).length).toBeGreaterThan(100);
});
