import type { Component } from "../../../api/component.ts";
import { describe } from "../../../api/kubernetes.ts";
import type { RecordedFleet } from "../bundle/bundle.ts";
import { UsageError } from "../errors.ts";
import { spanMsOf } from "../output/duration.ts";
import { workloadsOf } from "../spokes/live-view.ts";
import type { StatusItem } from "./status-item.ts";
import type { Known } from "./status.ts";

/** Since when only changes are of interest: a moment, or that at which a bundle was written. */
type Since =
  | { readonly kind: "time"; readonly atMs: number }
  | { readonly kind: "bundle"; readonly fleet: RecordedFleet };

/** Reads the value of `--since`: `2h`, `3d`, a time with its zone or a date, or a bundle of gather. Throws UsageError. */
export async function sinceOf(text: string, now: Date, signal: AbortSignal): Promise<Since> {
  const spanMs = spanMsOf(text);
  if (spanMs !== undefined && spanMs >= 0) return { kind: "time", atMs: now.getTime() - spanMs };
  const atMs = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isNaN(atMs)) return { kind: "time", atMs };
  if (/^[-+\d.]+[a-z]*$|^\d{4}-/.test(text)) throw wrong(text);
  const { readBundle } = await import("../bundle/read-bundle.ts");
  return { kind: "bundle", fleet: await readBundle(text, signal) };
}

function wrong(text: string): UsageError {
  const wanted = "a duration such as 2h or 3d, a time such as 2026-11-21T10:00:00Z, or a bundle";
  return new UsageError(`Invalid value "${text}" for --since: want ${wanted}`);
}

/** Whether an installation changed at or after a moment, as far as hub and cluster say when; what is wrong since nobody knows when counts. */
export function changedSince(
  atMs: number,
  component: Component,
  { item, reading }: Known,
): boolean {
  const { metadata, status } = component;
  const own = reading?.kind === "read" ? workloadsOf(component, reading.facts) : [];
  const times = [
    metadata.creationTimestamp,
    metadata.deletionTimestamp,
    ...(status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
    ...own.map(({ changedAt }) => changedAt),
  ];
  if (times.some((time) => Date.parse(time ?? "") >= atMs)) return true;
  const { state, since } = item.live;
  return !["Ready", "Skipped", "Unknown"].includes(state) && since === null;
}

/** How the fleet was, to compare with. */
export class Before {
  readonly #before: ReadonlyMap<string, StatusItem>;
  readonly #present = new Set<string>();

  constructor(items: readonly StatusItem[]) {
    this.#before = new Map(items.map((item) => [describe(item), item]));
  }

  /** Whether an installation is another than it was: in its state on hub or cluster, its reasons, versions or Deployments. */
  isOther(item: StatusItem): boolean {
    this.#present.add(describe(item));
    const was = this.was(item);
    return was === undefined || standOf(was) !== standOf(item);
  }

  /** How an installation was; undefined: it was not there. */
  was(item: StatusItem): StatusItem | undefined {
    return this.#before.get(describe(item));
  }

  /** Those that were there and that `isOther` was not asked about. */
  gone(): readonly StatusItem[] {
    return [...this.#before].flatMap(([key, item]) => (this.#present.has(key) ? [] : [item]));
  }
}

// Times and sentences change by themselves.
function standOf({ hub, live, cluster, version, wantedVersion, code }: StatusItem): string {
  const { state, reason, notAvailable, missing, deployments, kubernetesVersion } = live;
  const spoke = [state, reason, notAvailable, missing, deployments, kubernetesVersion];
  const place = cluster === null ? null : [cluster.namespace, cluster.name];
  return JSON.stringify([hub.state, hub.reason, code, place, version, wantedVersion, spoke]);
}
