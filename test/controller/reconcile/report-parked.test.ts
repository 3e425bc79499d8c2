import { expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import { WorkQueue } from "../../../controller/queue/queue.ts";
import type { Outcome } from "../../../controller/reconcile/outcome.ts";
import { nextOf } from "../../../controller/reconcile/report.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const components = 200;

test("two hundred components that wait for a change cost less than one attempt a second, and begin slowly", async () => {
  const clock = new FakeClock();
  const error = new FleetError("ReleaseNotFound", "There is no release 1.99.0");
  const outcome: Outcome = { kind: "failed", steps: { eligible: false, resolved: false }, error };
  let attempts = 0;
  const queue = new WorkQueue({
    work: async () => {
      attempts += 1;
      return nextOf(outcome, 10_000);
    },
    onBug: () => expect.unreachable(),
    concurrency: components,
    laneConcurrency: components,
    slowMs: 60_000,
    clock,
    random: () => 0.5,
  });
  queue.start();
  for (let number = 0; number < components; number += 1) queue.add(`c-${number}`, "hub");
  const attemptsIn = async (seconds: number): Promise<number> => {
    const before = attempts;
    for (let second = 0; second < seconds; second += 3) await clock.advance(3_000);
    return attempts - before;
  };
  // The first attempts, and no others within the interval of the poll.
  await attemptsIn(9);
  expect(attempts).toBe(components);
  await attemptsIn(1_800);
  expect((await attemptsIn(3_600)) / 3_600).toBeLessThan(1);
  await queue[Symbol.asyncDispose]();
});
