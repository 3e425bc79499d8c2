import type { ComponentKind } from "../../api/component.ts";
import { agentWorkName, componentWorkName } from "../../api/delivery.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { StoredObject } from "../simulator/object-store.ts";
import { differencesOf } from "../support/spoke-dump.ts";
import {
  componentUidOf,
  isComponent,
  isKept,
  isPulled,
  isReady,
  profileOf,
} from "./component-facts.ts";
import { setKey } from "./components.ts";
import { copyOn, hubUidOf } from "./copies.ts";
import { dumpOf, type FreshInstalls } from "./fresh-install.ts";
import type { Scenario } from "./scenario.ts";
import type { Simulation } from "./simulation.ts";

const stepMs = 60_000;
/** What was held up by the last fault may still come, even when all looks settled. */
const restMs = 5 * 60_000;
/** The longest pauses of the product are ten minutes; a rollout to five clusters has a few of them. */
const longestSettleMs = 60 * 60_000;

/** Waits until nothing is left to do, and checks that everything is as a fresh install would have it. */
export async function checkEnd(
  simulation: Simulation,
  scenario: Scenario,
  installs: FreshInstalls,
): Promise<void> {
  const untilMs = simulation.time.nowMs + longestSettleMs;
  await simulation.wait(restMs);
  while (unsettled(simulation, scenario).length > 0 && simulation.time.nowMs < untilMs) {
    // oxlint-disable-next-line no-await-in-loop -- one minute after the other
    await simulation.wait(stepMs);
    // Time stands still from the first problem on.
    if (simulation.problems.length > 0) return;
  }
  for (const text of unsettled(simulation, scenario)) simulation.report(`At the end ${text}`);
  for (const component of components(simulation)) {
    // oxlint-disable-next-line no-await-in-loop -- a fresh install after the other
    await compareInstallation(simulation, component, installs);
  }
  for (const text of leftovers(simulation)) simulation.report(`At the end ${text}`);
}

/** Lets a quiet time pass, in which nothing may be written but Leases. */
export async function checkQuiet(simulation: Simulation, quietMs: number): Promise<void> {
  const { hub, spokes } = simulation.fleet;
  simulation.beQuiet();
  using _listening = new DisposableStack();
  for (const cluster of [hub, ...spokes]) {
    const listening = cluster.store.listen(({ type, object: { kind, metadata } }) => {
      if (kind === "Lease") return;
      simulation.report(`In quiet times: ${type} ${kind} ${metadata.name} on ${cluster.name}`);
    });
    _listening.use(listening);
  }
  await simulation.wait(quietMs);
}

function components({ fleet }: Simulation): readonly StoredObject[] {
  return [...fleet.hub.store.everything()].filter(isComponent);
}

/** What is not done yet. */
function unsettled(simulation: Simulation, { sets }: Scenario): readonly string[] {
  const { hub, spokes } = simulation.fleet;
  const waiting = components(simulation).filter(
    (component) => component.metadata.deletionTimestamp !== undefined || !isReady(component),
  );
  const rolling = sets.filter((kind) => !isComplete(hub.store.find(objectOf(kind))));
  const working = spokes.flatMap(({ name, store }) =>
    [...store.all("batch/Job")]
      .filter(({ status }) => status === undefined)
      .map(({ metadata }) => `Job ${metadata.name} runs on ${name}`),
  );
  return [
    ...working,
    ...waiting.map(({ kind, metadata, ...rest }) => {
      const status = JSON.stringify(valueAt(rest, "status", "conditions"));
      const what = metadata.deletionTimestamp === undefined ? "not Ready" : "not gone";
      return `${kind} ${metadata.name} is ${what}: ${status}`;
    }),
    ...rolling.map((kind) => {
      const status = JSON.stringify(valueAt(hub.store.find(objectOf(kind)), "status", "rollout"));
      return `${kind}Set is not complete: ${status}`;
    }),
  ];
}

function objectOf(kind: ComponentKind) {
  const key = setKey(kind);
  return { ...key, metadata: key };
}

function isComplete(set: StoredObject | undefined): boolean {
  const isObserved = valueAt(set, "status", "observedGeneration") === set?.metadata.generation;
  return isObserved && valueAt(set, "status", "rollout", "phase") === "Complete";
}

async function compareInstallation(
  simulation: Simulation,
  component: StoredObject,
  installs: FreshInstalls,
): Promise<void> {
  const cluster = valueAt(component, "spec", "clusterProfileRef", "name");
  const spoke = simulation.fleet.spokes.find(({ name }) => name === cluster);
  if (spoke === undefined) return;
  const copy = copyOn(spoke, component);
  if (isPulled(component) !== (copy !== undefined)) {
    const found = copy === undefined ? "has no copy" : "has a copy";
    simulation.report(`At the end ${component.kind} ${component.metadata.name} ${found}`);
  }
  if (copy !== undefined && isKept(copy) !== isKept(component)) {
    const { name } = component.metadata;
    simulation.report(`At the end the copy of ${component.kind} ${name} is kept otherwise`);
  }
  const dump = dumpOf([...spoke.store.everything()], copy ?? component);
  const differences = differencesOf(await installs.of(component), dump);
  const { kind, metadata } = component;
  for (const difference of differences.slice(0, 3)) {
    simulation.report(`At the end ${kind} ${metadata.name} differs: ${difference}`);
  }
}

function workNameOf({ kind, metadata: { uid } }: StoredObject): string {
  const componentKind = kind === "KnativeServing" ? kind : "KnativeEventing";
  return componentWorkName({ kind: componentKind, metadata: { uid } });
}

/** Works of components that are not there any more or are pushed, and agents that nothing needs. */
function worksLeft({ fleet }: Simulation, all: readonly StoredObject[]): readonly string[] {
  const pulled = all.filter(isPulled);
  const wanted = new Set([
    ...pulled.map((component) => `${profileOf(component)} ${workNameOf(component)}`),
    ...pulled.map((component) => `${profileOf(component)} ${agentWorkName}`),
  ]);
  const works = [...fleet.hub.store.everything()].filter(({ kind }) => kind === "ManifestWork");
  const names = works.map(({ metadata }) => `${metadata.namespace} ${metadata.name}`);
  const agents = fleet.spokes.flatMap(({ name, store }) =>
    [...store.all("apps/Deployment")].flatMap(({ metadata }) =>
      metadata.name === agentWorkName ? `${name} ${agentWorkName}` : [],
    ),
  );
  return [...names, ...agents]
    .filter((name) => !wanted.has(name))
    .map((name) => `the work or agent ${name} is left`);
}

/** Objects of components that are not there any more, and policies that protect nothing. */
function leftovers(simulation: Simulation): readonly string[] {
  const all = components(simulation);
  const hubUids = new Set(all.map(({ metadata }) => metadata.uid));
  const used = new Set(all.map(profileOf));
  const { hub, spokes, orphans } = simulation.fleet;
  const left = worksLeft(simulation, all);
  return spokes
    .flatMap((spoke) => {
      const copies = [...spoke.store.everything()].filter((object) =>
        hubUids.has(hubUidOf(object) ?? ""),
      );
      const uids = new Set([...hubUids, ...copies.map(({ metadata }) => metadata.uid)]);
      // Nobody knows which policies a backup brought back, or whose last component it lost.
      const isRestored = [hub, spoke].some((cluster) => cluster.isRestoredWithin(Infinity));
      const isEmpty = !isRestored && !used.has(spoke.name);
      return [...spoke.store.everything()].flatMap((object) => {
        const { kind, metadata } = object;
        const uid = componentUidOf(object);
        const isKnown = uid === undefined || uids.has(uid) || orphans.has(uid);
        const isPolicy = kind.startsWith("ValidatingAdmissionPolicy");
        const hubUid = hubUidOf(object);
        const isStray = !isKnown || (hubUid !== undefined && !hubUids.has(hubUid));
        const isLeft = isPolicy ? isEmpty : isStray;
        return isLeft ? [`${kind} ${metadata.name} is left on ${spoke.name}`] : [];
      });
    })
    .concat(left);
}
