import { beforeEach, expect, onTestFinished, test, vi } from "vitest";

import { lead, type Leadership } from "../../../controller/leader/leader.ts";
import { defaultLeaseTimes } from "../../../controller/leader/lease.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

let clock: FakeClock;
let hub: MemoryHub;

beforeEach(() => {
  clock = new FakeClock();
  hub = new MemoryHub();
});

function leading(): Promise<Leadership> {
  const lease = { namespace: "knfleet-system", name: "knfleet-controller" };
  const times = defaultLeaseTimes;
  const options = { ...lease, client: hub, identity: "one", times, clock, log: silentLog };
  return lead(options, new AbortController().signal);
}

/** A leader whose question for the Lease took so long, and then its write. */
async function slowlyLeading(getMs: number, writeMs: number): Promise<Leadership> {
  hub.take(getMs, clock);
  const waiting = leading();
  hub.take(writeMs, clock);
  await clock.advance(getMs + writeMs);
  return waiting;
}

test("a leader leads on at a hub that takes 3 s for each answer", async () => {
  const leadership = await slowlyLeading(3_000, 3_000);
  await clock.advance(120_000);
  expect(leadership.lost.aborted).toBe(false);
  expect(leadership.mayWrite()).toBe(true);
});

test.each([
  { getMs: 9_000, writeMs: 500 },
  { getMs: 4_500, writeMs: 4_500 },
  { getMs: 500, writeMs: 9_000 },
])(
  "a leader at whose start the hub took $getMs and $writeMs ms leads on when it is fast again",
  async ({ getMs, writeMs }) => {
    const leadership = await slowlyLeading(getMs, writeMs);
    hub.take(0, clock);
    await clock.advance(60_000);
    expect(leadership.lost.aborted).toBe(false);
    expect(leadership.mayWrite()).toBe(true);
  },
);

test.each([
  { getMs: 9_000, writeMs: 500 },
  { getMs: 3_000, writeMs: 3_000 },
  { getMs: 500, writeMs: 9_000 },
])(
  "a leader that never renews gives up 10 s after its first write was sent ($getMs, $writeMs ms)",
  async ({ getMs, writeMs }) => {
    const leadership = await slowlyLeading(getMs, writeMs);
    hub.fail();
    await clock.advance(9_999 - writeMs);
    expect(leadership.mayWrite()).toBe(true);
    await clock.advance(1);
    expect(leadership.mayWrite()).toBe(false);
    expect(leadership.lost.aborted).toBe(true);
  },
);

test("a leader whose first write met a conflict gives up 10 s after the one that succeeded was sent", async () => {
  // Each pause between two tries is a whole retry period.
  const chance = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => chance.mockRestore());
  hub.take(1_000, clock);
  const waiting = leading();
  hub.take(3_000, clock);
  await clock.advance(2_000);
  // As when an earlier write of this process arrived after all.
  const spec = { holderIdentity: "one", leaseDurationSeconds: 15 };
  hub.edit("Lease", "knfleet-controller", { spec });
  // Refused at 4 s, asked again from 6 to 9 s, written from 9 to 12 s.
  await clock.advance(10_000);
  const leadership = await waiting;
  hub.fail();
  await clock.advance(6_999);
  expect(leadership.mayWrite()).toBe(true);
  await clock.advance(1);
  expect(leadership.mayWrite()).toBe(false);
});
