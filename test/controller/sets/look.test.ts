import { describe, expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { steering } from "../../../api/fleet-set.ts";
import { rolloutWith } from "../../sets/set-world.ts";
import { SetHub } from "./set-hub.ts";

const whenUnselected = { policy: "Delete", after: "1s", maxAtOnce: 5 } as const;
const rollout = rolloutWith({ stages: [{ name: "all", selector: {}, maxConcurrency: "100%" }] });

async function hubWith(names: readonly string[]): Promise<{ hub: SetHub; key: string }> {
  const hub = new SetHub();
  for (const name of names) hub.putProfile(name);
  const key = hub.putSet({ rollout, whenUnselected });
  await hub.look(key);
  return { hub, key };
}

const selectedReason = (hub: SetHub, key: string): string | undefined =>
  conditionOf(hub.set(key).status?.conditions, "Selected")?.reason;

describe("the acceptance of a selection", () => {
  test("serves once: the set is suspicious again when the selection shrinks later", async () => {
    const { hub, key } = await hubWith(["a", "b"]);
    expect(hub.names()).toEqual(["prod-a", "prod-b"]);
    const empty = async (): Promise<void> => {
      for (const name of ["a", "b"]) hub.drop("ClusterProfile", name);
      await hub.look(key);
    };
    await empty();
    expect(selectedReason(hub, key)).toBe("SuspiciousShrink");
    const { message = "" } = conditionOf(hub.set(key).status?.conditions, "Selected") ?? {};
    const set = hub.set(key);
    const annotations = { [steering.acceptSelection]: / is ([0-9a-f]+)$/.exec(message)?.[1] ?? "" };
    hub.put({ ...set, metadata: { ...set.metadata, annotations } });
    await hub.look(key);
    await hub.clock.advance(2_000);
    await hub.look(key);
    expect(hub.names()).toEqual([]);

    for (const name of ["a", "b"]) hub.putProfile(name);
    await hub.look(key);
    expect(hub.set(key).metadata.annotations).not.toHaveProperty(steering.acceptSelection);
    await hub.look(key);
    expect(hub.names()).toEqual(["prod-a", "prod-b"]);
    await empty();
    expect(selectedReason(hub, key)).toBe("SuspiciousShrink");
    await hub.clock.advance(2_000);
    await hub.look(key);
    expect(hub.names()).toEqual(["prod-a", "prod-b"]);
  });
});
