import { expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import {
  isInConflict,
  withRepair,
  withWrong,
} from "../../../controller/apply/filters/conflicts.ts";
import { settleConflicts } from "../../../controller/apply/install-attempt.ts";
import { InstallationMemory } from "../../../controller/apply/installation-memory.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const key = { apiVersion: "v1", kind: "ConfigMap", namespace: "ns", name: "a" };

test.each(["conflicts", "anchorConflicts"] as const)(
  "of %s, one that is over at the end of an attempt is forgotten: a drift much later begins none",
  async (which) => {
    const clock = new FakeClock();
    const memory = new InstallationMemory();
    const attempt = { memory, deps: { clock } };
    /** An attempt that finds the object changed, and repairs it. */
    const repair = (): boolean => {
      const now = clock.now();
      memory.become((state) => {
        const seen = withWrong(state[which], new Set([objectId(key)]), { held: new Set(), now });
        return { ...state, [which]: withRepair(seen, key, now) };
      });
      return isInConflict(memory.state[which], key);
    };
    const contested: boolean[] = [];
    for (let count = 0; count < 3; count += 1) {
      contested.push(repair());
      await clock.advance(1_000);
    }
    expect(contested).toEqual([false, false, true]);
    expect(settleConflicts(attempt)).toMatchObject([{ key }]);
    await clock.advance(60_000);
    expect(settleConflicts(attempt)).toEqual([]);
    await clock.advance(600_000);
    expect(repair()).toBe(false);
    expect(settleConflicts(attempt)).toEqual([]);
  },
);
