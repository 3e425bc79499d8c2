import { expect, onTestFinished, test } from "vitest";

import { SetCaches } from "../../../controller/sets/set-caches.ts";
import { apiError } from "../../support/api-error.ts";
import { FakeClock, settled } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";

function nothing(): void {}

test("each kind that cannot be watched is told", async () => {
  const told = new Set<string>();
  const error = apiError(403, "Forbidden");
  const caches = new SetCaches(
    {
      client: {
        list: () => Promise.reject(error),
        // oxlint-disable-next-line require-yield -- it fails before
        watch: async function* watch() {
          throw error;
        },
      },
      clock: new FakeClock(),
      log: { ...silentLog, warn: (fields: object) => void told.add(JSON.stringify(fields)) },
      onSet: nothing,
      onPolicyIgnored: () => undefined,
      onSetGone: nothing,
      onRevision: nothing,
      onProfile: nothing,
      onPlacements: nothing,
    },
    new AbortController().signal,
  );
  onTestFinished(() => caches[Symbol.dispose]());
  expect(caches.placements("OCMPlacement")).toBeUndefined();
  for (let turn = 0; turn < 20; turn += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one turn after the other
    await settled();
  }
  const kinds = ["KnativeServingSet", "KnativeEventingSet", "ControllerRevision", "ClusterProfile"];
  const all = [...kinds, "PlacementDecision"];
  expect(told).toEqual(new Set(all.map((kind) => JSON.stringify({ kind, err: error }))));
});
