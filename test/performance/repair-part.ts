import { setTimeout as delay } from "node:timers/promises";

import { keyOf, type Manifest } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { create, gone, ready, remove } from "../e2e/installation.ts";
import { requestsTo } from "../e2e/requests.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { seconds, tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";
import type { Subject, Workbench } from "./workbench.ts";

/** How long it took until one object was as it should be again, from the answer to the damage to the answer to the repair. */
export interface Repair {
  readonly kind: string;
  readonly damage: "deleted" | "changed";
  readonly elapsedMs: number;
}

const rttMs = 50;
const wantedRepairs = 48;
const pauseMs = 1_500;
const goalMs = 1_000;
const spared = ["Namespace", "Job"];

/**
 * Installs Eventing and damages one object after the other, of every kind in turn, each another one, and those of a kind by deletion and by change in
 * turn; then Serving, of whose own kinds each object is damaged in both ways.
 */
export async function measureRepairs(
  workbench: Workbench,
  say: (line: string) => void,
): Promise<readonly Repair[]> {
  const [first, ...others] = workbench.subjects;
  if (first === undefined) throw new Error("There is nothing to install");
  const victims = victimsOf(first.manifests).slice(0, wantedRepairs);
  const repairs = [...(await repairsOf(workbench, { subject: first, victims }, say))];
  const seen = new Set(first.manifests.map(({ kind }) => kind));
  for (const subject of others) {
    const own = victimsOf(subject.manifests.filter(({ kind }) => !seen.has(kind)));
    repairs.push(...(await repairsOf(workbench, { subject, victims: [...own, ...own] }, say)));
  }
  return repairs;
}

interface Damages {
  readonly subject: Subject;
  readonly victims: readonly Manifest[];
}

async function repairsOf(
  { fleet: { hub } }: Pick<Workbench, "fleet">,
  { subject: { title, kind, profile, spoke }, victims }: Damages,
  say: (line: string) => void,
): Promise<readonly Repair[]> {
  say(`Repairs: installing ${title}`);
  await create(hub, { kind, on: profile });
  await ready(hub, kind);
  spoke.proxy.setRtt(rttMs);
  const repairs: Repair[] = [];
  say(`Repairs: damaging ${victims.length} objects at RTT ${rttMs} ms`);
  for (const victim of victims) {
    // One after the other: what comes all at once is repaired together.
    await delay(pauseMs);
    repairs.push(await repairOf(spoke, victim, nextDamage(victim, repairs)));
  }
  spoke.proxy.setRtt(0);
  await remove(hub, kind);
  await gone(hub, kind);
  return repairs;
}

/** The objects of each kind in turn. */
function victimsOf(manifests: readonly Manifest[]): readonly Manifest[] {
  return inTurn(manifests.filter(({ kind }) => !spared.includes(kind)));
}

function nextDamage({ kind }: Manifest, repairs: readonly Repair[]): Repair["damage"] {
  // With a definition the objects of its kind would go.
  if (kind === "CustomResourceDefinition") return "changed";
  const last = repairs.findLast((repair) => repair.kind === kind) ?? repairs.at(-1);
  return last?.damage === "deleted" ? "changed" : "deleted";
}

/** The nearest rank: the value that so many of a hundred values are at or below. */
export function percentileOf(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN;
}

/** Repairs by kind and damage. */
export function repairReport(repairs: readonly Repair[]): string {
  const groups = Map.groupBy(repairs, ({ kind, damage }) => `${kind} ${damage}`);
  const rows = [...groups].map(([what, group]) => {
    const times = group.map(({ elapsedMs }) => elapsedMs);
    const middle = percentileOf(times, 50);
    return [what, String(group.length), seconds(middle), seconds(Math.max(...times))];
  });
  const title = `Time until a damaged object is as it should be, RTT ${rttMs} ms`;
  return [title, tableOf(["What", "Repairs", "Median", "Worst"], rows)].join("\n");
}

/** How long repairs may take. */
export function repairGoals(repairs: readonly Repair[]): readonly Goal[] {
  const times = repairs.map(({ elapsedMs }) => elapsedMs);
  return [
    {
      text: `Repair, RTT ${rttMs} ms: 95 % of ${repairs.length}`,
      value: percentileOf(times, 95),
      limit: goalMs,
      show: seconds,
    },
  ];
}

/** One of each kind, then the next of each kind, and so on. */
function inTurn(manifests: readonly Manifest[]): readonly Manifest[] {
  const kinds = [...Map.groupBy(manifests, ({ kind }) => kind).values()];
  const longest = Math.max(0, ...kinds.map((group) => group.length));
  return Array.from({ length: longest }, (_, round) =>
    kinds.flatMap((group) => group.slice(round, round + 1)),
  ).flat();
}

async function repairOf(
  spoke: Cluster,
  victim: Manifest,
  damage: Repair["damage"],
): Promise<Repair> {
  const key = keyOf(victim);
  const since = new Date();
  if (damage === "deleted") await spoke.admin.remove(key);
  else await spoke.admin.patch(key, changeOf(victim));
  const at = Date.now();
  const repair = await waitFor(`${victim.kind} ${key.name} to be ${damage} no more`, async () => {
    const sent = await requestsTo(spoke, since);
    return sent.find(
      ({ verb, name, namespace, code }) =>
        verb === "patch" && name === key.name && namespace === (key.namespace ?? "") && code < 300,
    );
  });
  return { kind: victim.kind, damage, elapsedMs: repair.answeredAt.getTime() - at };
}

/** Takes away what matters most in an object of its kind, or else a label. */
function changeOf(manifest: Manifest): Record<string, unknown> {
  const { kind, metadata } = manifest;
  const [container] = listAt(manifest, "spec", "template", "spec", "containers");
  if (kind === "Deployment" && container !== undefined) {
    const containers = [{ name: valueAt(container, "name"), image: "example.test/wrong:1" }];
    return { spec: { template: { spec: { containers } } } };
  }
  const [entry] = Object.keys(Object(valueAt(manifest, "data")));
  if (kind === "ConfigMap" && entry !== undefined) return { data: { [entry]: "wrong" } };
  if (kind === "CustomResourceDefinition") return { spec: { names: { categories: ["wrong"] } } };
  if (listAt(manifest, "rules").length > 0) return { rules: [] };
  const [label = componentUidLabel] = Object.keys(metadata.labels ?? {});
  return { metadata: { labels: { [label]: "wrong" } } };
}

function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}
