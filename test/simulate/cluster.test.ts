import { expect, test } from "vitest";

import { ownComponent, ownKey } from "./components.ts";
import { simulatedFleet } from "./fleet.ts";
import { Random } from "./random.ts";
import { VirtualTime } from "./virtual-time.ts";

test("what a user patches is changed, as a new generation, and nothing else is", () => {
  const pull = { spokes: 0, isDialled: true };
  const options = { time: new VirtualTime(0), random: new Random(1), spokes: 1, canaries: 1, pull };
  using fleet = simulatedFleet(options);
  const before = fleet.hub.put(ownComponent("KnativeServing", "spoke-1", "1.22"));
  const key = ownKey("KnativeServing", "spoke-1");
  const after = fleet.hub.patch(key, { spec: { version: "1.23" } });
  expect(after?.["spec"]).toEqual({ ...Object(before["spec"]), version: "1.23" });
  expect([before.metadata.generation, after?.metadata.generation]).toEqual([1, 2]);
});
