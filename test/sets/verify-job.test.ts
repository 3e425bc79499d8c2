import { expect, test } from "vitest";

import type { VerifySpec } from "../../api/fleet-set.ts";
import { checksOf } from "../../sets/verify.ts";
import { canaryOf, passes, upgrading } from "./verified-set.ts";

const template = {
  spec: { containers: [{ name: "smoke", image: "example.com/smoke:1" }], restartPolicy: "Never" },
} as const;
const verify: VerifySpec = {
  checks: [
    {
      name: "smoke",
      noData: "Fail",
      job: { activeDeadlineSeconds: 300, backoffLimit: 0, template },
    },
  ],
};
const good = { kind: "good", message: "", isFinal: true } as const;
const bad = { kind: "bad", message: "Job a failed", isFinal: true } as const;
const running = { kind: "unasked", message: "Job a has not ended yet" } as const;

test("a Job is looked at each ten seconds, whatever its check says of intervals", () => {
  const [check] = checksOf({
    checks: (verify.checks ?? []).map((one) => ({ ...one, for: "5m", interval: "1h" })),
  });
  expect(check).toMatchObject({ forMs: 0, intervalMs: 10_000 });
});

test("a cluster is done when its Job has ended well, and that answer does not get old", () => {
  const world = upgrading(verify);
  world.reply = () => running;
  passes(world, 60_000);
  expect(canaryOf(world)).toContain("Check smoke: it has no answer: Job a has not ended yet");
  world.reply = () => good;
  passes(world, 10_000);
  expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
  world.reply = () => undefined;
  passes(world, 540_000);
  expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
});

test("a Job that fails halts the rollout at once, and for ever", () => {
  const world = upgrading(verify);
  world.reply = () => bad;
  passes(world, 10_000);
  const halted = "Halted | Failed CheckFailed: Check smoke: Job a failed | verifying 0";
  expect(canaryOf(world)).toBe(halted);
  world.reply = () => undefined;
  passes(world, 3_600_000);
  expect(canaryOf(world)).toBe(halted);
});

test("after a retry a good end is enough, without five minutes of it", () => {
  const world = upgrading(verify);
  world.reply = () => bad;
  passes(world, 10_000);
  world.reply = () => running;
  passes(world, 10_000);
  expect(canaryOf(world)).toContain("Halted | Failed CheckFailed: Check smoke: it has no answer");
  world.reply = () => good;
  passes(world, 10_000);
  expect(canaryOf(world)).toBe("Soaking | Done | verifying 0");
});

test("a Job may end as much later than the deadline as it may last, and then fails", () => {
  const world = upgrading(verify, { progressDeadline: "10m" });
  world.reply = () => running;
  passes(world, 880_000);
  expect(canaryOf(world)).toContain("Rolling | Verifying");
  passes(world, 20_000);
  expect(canaryOf(world)).toContain("Halted | Failed CheckFailed: Check smoke: it has no answer");
});
