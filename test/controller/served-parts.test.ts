import { expect, test } from "vitest";

import { Components } from "../../controller/components.ts";
import { ServedParts } from "../../controller/served-parts.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { silentLog } from "../support/silent-log.ts";
import { hubWithNone } from "./dispatched-hub.ts";
import { emptyReleases } from "./sets/empty-releases.ts";

const { signal } = new AbortController();

function ignore(): void {}

test("a shard whose work does not end is left after a minute, with its connections and writes cut", async () => {
  const clock = new FakeClock();
  const hub = new MemoryHub();
  const lines: string[] = [];
  const log = { ...silentLog, warn: (_fields: object, text: string) => void lines.push(text) };
  const cut: boolean[] = [];
  let writes: AbortSignal | undefined;
  const { deps } = hubWithNone();
  await using parts = new ServedParts({
    clock,
    log,
    hub,
    hubFor: (_part, end) => {
      writes = end;
      return deps.hub;
    },
    components: new Components(
      { client: hub, clock, log, onChange: ignore, onDelete: ignore },
      signal,
    ),
    // A plugin, for example, that does not care for its end.
    dispatcher: { serve: ignore, leave: () => new Promise(() => undefined), spokeChanged: ignore },
    spokes: {
      disconnect: async (isLeft) => {
        cut.push(isLeft("fleet/a"));
      },
    },
    leaseNamespace: "knfleet-system",
    shards: 1,
    sets: false,
    maxSetsPerNamespace: 1,
    mayFollowAnother: false,
    start: ignore,
    onChange: ignore,
    releases: emptyReleases(),
    rendering: {},
    random: () => 0,
  });
  await parts.begin([0], signal);
  let isOver = false;
  const ending = parts.end(0).then(() => (isOver = true));
  await clock.advance(59_000);
  expect([isOver, cut, writes?.aborted]).toEqual([false, [], false]);
  await clock.advance(1_000);
  await ending;
  expect([cut, writes?.aborted]).toEqual([[true], true]);
  expect(lines).toEqual(["The work of a part did not end in time"]);
});
