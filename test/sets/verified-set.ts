import type { VerifySpec } from "../../api/fleet-set.ts";
import { ring, SetWorld, stageOfRing } from "./set-world.ts";

const stages = [stageOfRing("canary", { after: { soak: "10m" } }), stageOfRing("rest")];
export const workloads: VerifySpec = { workloads: { maxNewlyBroken: 0, within: "3m" } };
export const errorRate = {
  name: "error-rate",
  noData: "Fail",
  prometheus: {
    service: { namespace: "monitoring", name: "prometheus", port: 9090, scheme: "http" },
    query: "up",
    max: 1,
  },
} as const;

export const good = { kind: "good", message: "" } as const;
export const bad = { kind: "bad", message: "Service shop/cart broke" } as const;
export const unasked = { kind: "unasked", message: "no answer" } as const;

/** A set with one canary, or more, and one further cluster that has completed 1.22.0 and gets 1.23.0. */
export function upgrading(verify: VerifySpec, rollout: object = {}, canaries = 1): SetWorld {
  const world = new SetWorld({ stages, verify, ...rollout }, [
    ...ring("canary", canaries),
    ...ring("rest", 1),
  ]);
  world.reply = () => good;
  world.run(["Complete"]);
  world.edit({ template: { spec: { version: "1.23.0" } } });
  world.settle();
  // The canary is ready with the revision.
  world.pass(10_000);
  return world;
}

/** State and message of the canary, and the state of its stage. */
export function canaryOf(world: SetWorld): string {
  world.settle();
  const { stages: known = [], notable = [], clusters = {} } = world.set.status ?? {};
  const [one] = notable.filter(({ cluster }) => cluster === "fleet/canary-1");
  const state = one === undefined ? "Done" : `${one.state} ${one.reason}: ${one.message}`;
  return `${known[0]?.state} | ${state} | verifying ${clusters["verifying"] ?? 0}`;
}

/** Lets time pass in rounds of ten seconds. */
export function passes(world: SetWorld, ms: number): void {
  for (let left = ms; left > 0; left -= 10_000) {
    world.settle();
    world.pass(Math.min(left, 10_000));
  }
}
