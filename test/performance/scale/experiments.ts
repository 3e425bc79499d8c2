import { setTimeout as delay } from "node:timers/promises";

import type { StoredObject } from "../../simulator/object-store.ts";
import type { SimulatedSpoke } from "../../simulator/simulator.ts";
import { createAll } from "../fleet-components.ts";
import { type Experiment, figuresSince, measured, quantiles } from "./measured.ts";
import {
  allConnected,
  areTrue,
  componentsFor,
  type ControlledFleet,
  isTrue,
  readComponents,
  removeAll,
  resetTraffic,
  type ScaleFleet,
  type Sharing,
  sharingFlags,
  spokeTraffic,
  startControllers,
  until,
} from "./scale-fleet.ts";

type Say = (line: string) => void;

const settled = ["Ready", "AnchorProtected"];

/** b: both components for every spoke, created at once. */
export async function createEverything(controlled: ControlledFleet): Promise<Experiment> {
  const { scale } = controlled;
  const all = componentsFor(scale.spokes);
  const figures = await measured(controlled, async () => {
    await createAll(scale.fleet.hub, all);
    await areTrue(scale, all.length, settled);
  });
  return { id: "b", title: `${all.length} components created at once`, ...figures };
}

/** a: a controller that starts while everything is installed, or several that share the fleet. Leaves them running. */
export async function startCold(
  scale: ScaleFleet,
  sharing: Sharing = { replicas: 1, shards: 1 },
): Promise<{
  readonly experiment: Experiment;
  readonly running: Awaited<ReturnType<typeof startControllers>>;
}> {
  resetTraffic(scale);
  const [since, startedAt] = [new Date(), performance.now()];
  const { replicas } = sharing;
  const running = await startControllers(scale, { replicas, flags: sharingFlags(sharing) });
  await allConnected(running, sharing);
  const connectedMs = performance.now() - startedAt;
  await until("all watches to be open", () => watchesAreOpen(scale));
  const elapsedMs = performance.now() - startedAt;
  const experiment = {
    id: "a",
    title: "cold start, everything installed before",
    ...(await figuresSince(running, since)),
    elapsedMs,
    note: `all connected after ${Math.round(connectedMs / 1_000)} s`,
  };
  return { experiment, running };
}

/** Workloads are watched on each spoke, and the guard is proven. */
function watchesAreOpen({ spokes }: ScaleFleet): boolean {
  return spokes.every(({ traffic }) =>
    ["watch deployments", "watch configmaps", "watch validatingadmissionpolicies"].every(
      (name) => (traffic.counts.get(name) ?? 0) > 0,
    ),
  );
}

/** How long to wait before, and how long to measure, in ms. */
interface Rest {
  readonly beforeMs: number;
  readonly ms: number;
}

const minutes: Rest = { beforeMs: 60_000, ms: 60_000 };

/** c: nothing happens for a while. Re-checks of the guard and the questions how a quiet spoke is are counted apart. */
export async function rest(
  controlled: ControlledFleet,
  { beforeMs, ms }: Rest = minutes,
): Promise<Experiment> {
  // The collector frees the objects of a start bit by bit.
  await delay(beforeMs);
  const figures = await measured(controlled, () => delay(ms));
  const { byName } = spokeTraffic(controlled.scale);
  const names = [...byName.keys()];
  const sum = (isWanted: (name: string) => boolean): number =>
    names.filter(isWanted).reduce((total, name) => total + (byName.get(name) ?? 0), 0);
  const watches = sum((name) => name.startsWith("watch "));
  const checks = sum((name) => name.startsWith("dry-run ") || name === "list namespaces");
  const questions = sum((name) => name === "get /readyz" || name === "get /version");
  const others = figures.spokeRequests - watches - checks - questions;
  return {
    id: "c",
    title: `idle for ${ms / 1_000} s`,
    ...figures,
    spokeRequests: others,
    note: `beside ${watches} watches, ${checks} checks of the guard, ${questions} questions`,
  };
}

const lostName = "config-logging";

/** d: one object is deleted on a tenth of the spokes at once. */
export async function repairTenth(controlled: ControlledFleet): Promise<Experiment> {
  const { scale } = controlled;
  const some = scale.spokes.filter((_, index) => index % 10 === 0);
  let times: readonly number[] = [];
  const figures = await measured(controlled, async () => {
    times = await Promise.all(some.map(loseAndWait));
  });
  const title = `one object deleted on ${some.length} spokes at once`;
  return { id: "d", title, ...figures, ...quantiles(times) };
}

/** Deletes an object and resolves with the time until it is there again, in ms. */
export async function loseAndWait({ name, store }: SimulatedSpoke): Promise<number> {
  const key = `knative-eventing/${lostName}`;
  const lost = store.get("/ConfigMap", key);
  if (lost === undefined) throw new Error(`${name} has no ${lostName}`);
  const { promise, resolve } = Promise.withResolvers<number>();
  const startedAt = performance.now();
  using _listening = store.listen(({ type, object }) => {
    if (type === "ADDED" && isSame(object, lost)) resolve(performance.now() - startedAt);
  });
  store.drop(lost);
  return await promise;
}

function isSame({ kind, metadata }: StoredObject, other: StoredObject): boolean {
  const { namespace, name } = other.metadata;
  return kind === other.kind && metadata.namespace === namespace && metadata.name === name;
}

/** e: everything is installed again, on four fifths of the spokes alone and then beside a fifth that answers nothing. */
export async function installBesideBlackHoles(
  controlled: ControlledFleet,
  say: Say,
): Promise<Experiment> {
  const { scale } = controlled;
  const dark = scale.spokes.filter((_, index) => index % 5 === 4);
  const bright = scale.spokes.filter((spoke) => !dark.includes(spoke));
  const wanted = componentsFor(bright);
  say("Scale e: removing everything");
  await removeAll(scale);
  say("Scale e: installing beside nothing");
  const alone = await measured(controlled, async () => {
    await createAll(scale.fleet.hub, wanted);
    await areTrue(scale, wanted.length, ["Ready"]);
  });
  say("Scale e: removing everything");
  await removeAll(scale);
  say(`Scale e: installing beside ${dark.length} spokes that answer nothing`);
  for (const spoke of dark) spoke.setFaults({ isBlackHole: true });
  const beside = await measured(controlled, async () => {
    // Their components come first, so that they are in the way if they can be.
    await createAll(scale.fleet.hub, componentsFor(dark));
    await createAll(scale.fleet.hub, wanted);
    await areTrue(scale, wanted.length, ["Ready"]);
  });
  for (const spoke of dark) spoke.setFaults({});
  return {
    id: "e",
    title: `everything installed beside ${dark.length} spokes that answer nothing`,
    ...beside,
    aloneMs: alone.elapsedMs,
    note: `${Math.round(alone.elapsedMs / 1_000)} s without them`,
  };
}

/** e2: a fifth of the spokes goes dark. How long until each of their components says that it is not ready. Waits until they are all ready again. */
export async function goDark(controlled: ControlledFleet): Promise<Experiment> {
  const { scale } = controlled;
  const dark = scale.spokes.filter((_, index) => index % 5 === 4);
  const names = new Set(dark.map(({ name }) => name));
  const figures = await measured(controlled, async () => {
    for (const spoke of dark) spoke.setFaults({ isBlackHole: true });
    await until("the dark ones to be told", async () => {
      const all = await readComponents(scale);
      return all
        .filter(({ metadata }) => names.has(metadata.name))
        .every((component) => !isTrue(component, "Ready"));
    });
  });
  for (const spoke of dark) spoke.setFaults({});
  await areTrue(scale, scale.spokes.length * 2, ["Ready"]);
  return { id: "e2", title: `${dark.length} spokes go dark`, ...figures };
}
