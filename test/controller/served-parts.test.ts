import { expect, test } from "vitest";

import type { KubeClient } from "../../access/kube/kube-client.ts";
import { CheckSource } from "../../access/urls/check-source.ts";
import { Components } from "../../controller/components.ts";
import type { Log } from "../../controller/log.ts";
import { ServedParts } from "../../controller/served-parts.ts";
import { serving } from "../support/component.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { silentLog } from "../support/silent-log.ts";
import { hubWithNone } from "./dispatched-hub.ts";
import { emptyReleases } from "./sets/empty-releases.ts";

const { signal } = new AbortController();

function ignore(): void {}

interface Surroundings {
  readonly clock: FakeClock;
  readonly log?: Log;
  readonly hubFor: (end: AbortSignal) => KubeClient;
  readonly leave?: () => Promise<void>;
  readonly disconnect?: (isLeft: (spoke: string) => boolean) => Promise<void>;
}

/** The parts of a process that serves one shard. */
function partsIn({ clock, log = silentLog, ...around }: Surroundings): ServedParts {
  const hub = new MemoryHub();
  const { hubFor, leave = async () => undefined, disconnect = async () => undefined } = around;
  return new ServedParts({
    clock,
    log,
    hub,
    hubFor: (_part, end) => hubFor(end),
    components: new Components(
      { client: hub, clock, log, onChange: ignore, onDelete: ignore },
      signal,
    ),
    dispatcher: { serve: ignore, leave, spokeChanged: ignore },
    spokes: {
      disconnect,
      acquire: () => Promise.reject(new Error("nobody asks")),
      release: ignore,
    },
    leaseNamespace: "knfleet-system",
    shards: 1,
    sets: false,
    maxSetsPerNamespace: 1,
    spokeNamespace: "Component",
    mayFollowAnother: false,
    start: ignore,
    onChange: ignore,
    releases: emptyReleases(),
    checkSource: new CheckSource({ sources: [], userAgent: "knfleet-test" }),
    rendering: {},
    random: () => 0,
  });
}

test("a failure that waits for its time is not written by a process that serves its shard no more", async () => {
  const clock = new FakeClock();
  const memory = new MemoryHub();
  const { deps } = hubWithNone();
  const { get, create, patch } = memory;
  await using parts = partsIn({ clock, hubFor: () => ({ ...deps.hub, get, create, patch }) });
  await parts.begin([0], signal);
  const { events } = parts.of(0);
  const say = (reason: string, message: string): Promise<void> =>
    events.record(serving(), { type: "Warning", reason, message }, signal);
  for (let count = 0; count < 26; count += 1) await say(`Reason${count}`, "x");
  await say("ApplyFailed", "the newest");
  await parts.end(0);
  await clock.advance(10 * 60_000);
  const said = memory.all("Event").map(({ message }) => message);
  expect(said).toHaveLength(26);
  expect(said.join()).not.toContain("the newest");
});

test("a shard whose work does not end is left after a minute, with its connections and writes cut", async () => {
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = { ...silentLog, warn: (_fields: object, text: string) => void lines.push(text) };
  const cut: boolean[] = [];
  let writes: AbortSignal | undefined;
  const { deps } = hubWithNone();
  await using parts = partsIn({
    clock,
    log,
    hubFor: (end) => {
      writes = end;
      return deps.hub;
    },
    // A plugin, for example, that does not care for its end.
    leave: () => new Promise(() => undefined),
    disconnect: async (isLeft) => {
      cut.push(isLeft("fleet/a"));
    },
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
