import { monitorEventLoopDelay } from "node:perf_hooks";

import { delay } from "../../access/time/clock.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { leadSetsOn, type LedSets } from "../controller/sets/lead-sets.ts";
import { SetHub } from "../controller/sets/set-hub.ts";
import { settled } from "../support/fake-clock.ts";
import { tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";

/** What one step of the controller took: looks at sets, time, and that of all threads on a processor. */
interface Step {
  readonly looks: number;
  readonly elapsedMs: number;
  readonly cpuMs: number;
}

/** One tenant with so many sets in one namespace, and another one with a single set, on a hub in memory. */
export interface TenantResult {
  readonly sets: number;
  /** The first looks of a new leader at all sets. */
  readonly start: Step & { readonly longestBlockMs: number };
  /** Until an edit of one set of the tenant is in its status. */
  readonly edit: Step;
  /** Until an edit of the other tenant's set is in its status, which comes after an edit of each set of the first one. */
  readonly other: Step;
}

const sizes = [200, 2_000] as const;
const setsOnCluster = 10;

/** Edits one of 200 and of 2,000 sets. */
export async function measureTenant(say: (line: string) => void): Promise<readonly TenantResult[]> {
  const results: TenantResult[] = [];
  for (const sets of sizes) {
    say(`Editing one of ${sets} fleet sets of a tenant`);
    // oxlint-disable-next-line no-await-in-loop -- measured one after the other
    results.push(await measureWith(sets));
  }
  return results;
}

async function measureWith(count: number): Promise<TenantResult> {
  const hub = new SetHub();
  const names = Array.from({ length: count }, (_, index) => `set-${index}`);
  const keys = names.map((name, index) =>
    putSet(hub, name, `${Math.floor(index / setsOnCluster)}`),
  );
  for (let group = 0; group * setsOnCluster < count; group += 1) {
    hub.putProfile(`cluster-${group}`, { group: String(group) });
  }
  hub.putProfile("cluster-other", { group: "other" });
  const other = putSet(hub, "other", "other");
  const [last = ""] = keys.slice(-1);
  const options = { maxSetsPerNamespace: Infinity, clock: systemClock };
  const block = monitorEventLoopDelay({ resolution: 1 });
  block.enable();
  await using led = leadSetsOn(hub, options, answeringLater(hub));
  const measure = (isDone: () => boolean, change?: () => void): Promise<Step> =>
    step({ hub, led, isDone }, change);
  const start = await measure(allOf(hub, keys));
  block.disable();
  await quiet(led);
  const edit = await measure(allOf(hub, [last]), () => touch(hub, last));
  await quiet(led);
  const all = await measure(allOf(hub, [other]), () => {
    for (const key of [...keys, other]) touch(hub, key);
  });
  const longestBlockMs = block.max / 1e6;
  return { sets: count, start: { ...start, longestBlockMs }, edit, other: all };
}

/** Each request takes a turn of the event loop, as over a network. */
function answeringLater({ client }: SetHub): SetHub["client"] {
  return {
    get: (...all) => settled().then(() => client.get(...all)),
    create: (...all) => settled().then(() => client.create(...all)),
    replace: (...all) => settled().then(() => client.replace(...all)),
    patch: (...all) => settled().then(() => client.patch(...all)),
    apply: (...all) => settled().then(() => client.apply(...all)),
    remove: (...all) => settled().then(() => client.remove(...all)),
  };
}

function putSet(hub: SetHub, name: string, group: string): string {
  const namespace = name === "other" ? "team" : "fleet";
  const selector = { namespaces: ["fleet"], matchLabels: { group } };
  return hub.putSet({ clusters: { from: "Selector", selector } }, { name, uid: name, namespace });
}

/** Changes a set, so that its status has to follow. */
function touch(hub: SetHub, key: string): void {
  const { revisionHistoryLimit } = hub.set(key).spec;
  hub.edit(key, { revisionHistoryLimit: revisionHistoryLimit === 9 ? 8 : 9 });
}

function isTold(hub: SetHub, key: string): boolean {
  const { metadata, status } = hub.set(key);
  return status?.observedGeneration === metadata.generation;
}

/** Lets the pace of all sets pass, and everything happen that follows. */
async function quiet(led: LedSets): Promise<void> {
  for (let looks = -1; looks !== led.looks;) {
    looks = led.looks;
    // oxlint-disable-next-line no-await-in-loop -- one pace after the other
    await delay(systemClock, 2_000, new AbortController().signal);
  }
}

/** True when the status of each set is about its spec. Each is asked about until it is. */
function allOf(hub: SetHub, keys: readonly string[]): () => boolean {
  const left = [...keys];
  return () => {
    for (let key = left.at(-1); key !== undefined && isTold(hub, key); key = left.at(-1)) {
      left.pop();
    }
    return left.length === 0;
  };
}

interface Measured {
  readonly hub: SetHub;
  readonly led: LedSets;
  readonly isDone: () => boolean;
}

/** Measures from a change until what it leads to is written. */
async function step(
  { hub, led, isDone }: Measured,
  change: () => void = () => undefined,
): Promise<Step> {
  const { looks } = led;
  const startedAt = performance.now();
  const startedCpu = process.cpuUsage();
  change();
  const { promise, resolve } = Promise.withResolvers<Step>();
  const written = (): void => {
    if (!isDone()) return;
    hub.watchers.delete(written);
    const { user, system } = process.cpuUsage(startedCpu);
    const elapsedMs = performance.now() - startedAt;
    resolve({ looks: led.looks - looks, elapsedMs, cpuMs: (user + system) / 1_000 });
  };
  hub.watchers.add(written);
  return promise;
}

/** What an edit among 2,000 sets may take. */
export function tenantGoals(results: readonly TenantResult[]): readonly Goal[] {
  const large = results.at(-1);
  if (large === undefined) return [];
  const { sets, start, edit, other } = large;
  return [
    { text: `Looks after an edit of one of ${sets} sets`, value: edit.looks, limit: setsOnCluster },
    {
      text: `CPU time of an edit of one of ${sets} sets`,
      value: edit.cpuMs,
      limit: 100,
      show: milliseconds,
    },
    {
      text: `Delay of another tenant's edit after ${sets} others`,
      value: other.elapsedMs,
      limit: 1_000,
      show: milliseconds,
    },
    {
      text: `Longest block of the event loop while a new leader looks at ${sets} sets`,
      value: start.longestBlockMs,
      limit: 500,
      show: milliseconds,
    },
  ];
}

/** Table of the edits. */
export function tenantReport(results: readonly TenantResult[]): string {
  const rows = results.map(({ sets, start, edit, other }) => [
    String(sets),
    `${milliseconds(start.cpuMs)}, blocked ${milliseconds(start.longestBlockMs)}`,
    shown(edit),
    shown(other),
  ]);
  return [
    `One tenant with many fleet sets, ${setsOnCluster} on each cluster (looks, delay, CPU)`,
    tableOf(["Sets", "Start", "One edit", "Another tenant's edit after one of each"], rows),
  ].join("\n");
}

function shown({ looks, elapsedMs, cpuMs }: Step): string {
  return `${looks}, ${milliseconds(elapsedMs)}, ${milliseconds(cpuMs)}`;
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
