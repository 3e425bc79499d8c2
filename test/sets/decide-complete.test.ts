import { expect, test } from "vitest";

import { steering } from "../../api/fleet-set.ts";
import type { Fate } from "./status-after.ts";
import { completeWorld } from "./two-rings.ts";

test.each([{ isPaused: false }, { isPaused: true }])(
  "a complete set with a failed and an unready cluster says one thing and writes it once (paused: $isPaused)",
  ({ isPaused }) => {
    const world = completeWorld();
    const fates: Readonly<Record<string, Fate>> = { "canary-1": "invalid", "canary-2": "stuck" };
    for (const [name, fate] of Object.entries(fates)) {
      const cluster = world.clusters.get(name);
      if (cluster !== undefined) world.clusters.set(name, { ...cluster, fate: () => fate });
    }
    for (const [key, child] of world.children) {
      const generation = (child.metadata.generation ?? 0) + 1;
      world.children.set(key, { ...child, metadata: { ...child.metadata, generation } });
    }
    if (isPaused) world.annotate(steering.pause, "wait");
    world.pass(3_600_000);
    world.settle();
    const phases = new Set<string | undefined>();
    const { writes } = world;
    for (let second = 0; second < 1_200; second += 1) {
      phases.add(world.settle().status.rollout?.phase);
      world.pass(1_000);
    }
    expect([...phases]).toEqual([isPaused ? "Paused" : "Complete"]);
    // The unready cluster times out.
    expect(world.writes - writes).toBeLessThanOrEqual(2);
  },
);
