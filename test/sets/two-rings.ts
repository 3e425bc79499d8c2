import { revisionNameOf } from "../../sets/desired-spec.ts";
import { ring, SetWorld, stageOfRing } from "./set-world.ts";

export const minute = 60_000;
export const next = { template: { spec: { version: "1.23.0" } } };
export const stages = [
  stageOfRing("canary", { maxConcurrency: 1 }),
  stageOfRing("rest", { maxConcurrency: 2, maxFailures: 1 }),
];

/** A set that is complete at 1.22.0 on two rings; 1.23.0 never gets ready on the clusters of `bad`. */
export function completeWorld(extra: object = {}, bad: readonly string[] = []) {
  const fate = (name: string) => (version: string) =>
    version === "1.23.0" && bad.includes(name) ? ("stuck" as const) : ("ready" as const);
  const clusters = [...ring("canary", 2), ...ring("rest", 5)];
  const world = new SetWorld(
    { stages, ...extra },
    clusters.map((cluster) => ({ ...cluster, fate: fate(cluster.name) })),
  );
  world.run(["Complete"]);
  return world;
}

/** Name of the revision that the spec wants. */
export function updateOf(world: SetWorld): string {
  return revisionNameOf(world.set);
}
