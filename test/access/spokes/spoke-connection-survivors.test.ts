import { expect, test } from "vitest";

import { type Clock, delay } from "../../../access/time/clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { knownResource } from "../../../api/resources.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { untilTheEnd } from "../loopback.ts";
import { connected, patience, perhaps, watched } from "./quiet-connection.ts";

const { signal } = new AbortController();
const never = { everyMs: 600_000, limit: 3 };
const secrets = knownResource("v1", "Secret");
const bookmark = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"}}}\n`;

/** A spoke with two watches that is away for everything new, until it is lost. */
async function lostWithWatches(): Promise<{
  readonly clock: Clock;
  readonly silent: Promise<unknown>;
  readonly talking: Promise<unknown>;
}> {
  let isAway = false;
  const clock = untilTheEnd(new QuickClock(5));
  const { keeper, client } = await connected(() => ({}), {
    clock,
    quiet: never,
    all: ({ path }) => {
      if (isAway) return { status: 502 };
      return path.includes("/secrets") ? { body: bookmark, everyMs: 20 } : undefined;
    },
  });
  const watches = { silent: watched(client), talking: watched(client, secrets) };
  await client.request("GET", "/version", undefined, AbortSignal.timeout(60_000));
  isAway = true;
  expect(await watched(client, perhaps)).toBeInstanceOf(Error);
  await expect.poll(() => keeper.state.kind, patience).toBe("lost");
  return { ...watches, clock };
}

test("a watch that survives the loss of its spoke and says nothing is ended, though nobody waited for silence", async () => {
  const { silent, clock } = await lostWithWatches();
  const late = delay(clock, 50_000, signal).then(() => "still open");
  expect(await Promise.race([silent, late])).toBeInstanceOf(FleetError);
});

// Such as a long list over a link that is so slow that questions are not answered in time.
test("a watch on which something comes goes on while its spoke is lost", async () => {
  const { talking, clock } = await lostWithWatches();
  const later = delay(clock, 5_000, signal).then(() => "still open");
  expect(await Promise.race([talking, later])).toBe("still open");
});
