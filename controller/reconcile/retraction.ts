import type { Component } from "../../api/component.ts";
import type { ObservedChange } from "../observe/observation.ts";
import { doubtOf } from "./doubt.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { openReport } from "./report.ts";

// An attempt that begins with a change usually ends before, and tells more.
const patienceMs = 2_000;

/** Milliseconds after which a change must have been told of; undefined: it tells nothing of workloads. */
export function retractionDelayOf({ kind }: ObservedChange): number | undefined {
  if (kind === "labels" || kind === "job") return undefined;
  // Of a watch that has been missed for some seconds already.
  return kind === "watch" ? 0 : patienceMs;
}

/**
 * Takes back that all workloads are available when the watches show otherwise. For changes that no attempt has told of in time: one that runs may wait for its cluster,
 * and the next one may have to wait before it begins. What is true again is told by an attempt. Rejects when the hub does not take the status.
 */
export async function retract(
  { component, installation }: Subject,
  deps: Pick<ReconcileDeps, "hub" | "clock" | "events" | "spokes">,
  signal: AbortSignal,
): Promise<void> {
  const doubt = mayDoubt(component, deps) && installation.view && doubtOf(installation.view);
  if (!doubt) return;
  const outcome = { kind: "seen", doubt } as const;
  // Its own next write tells of what it has come to.
  if (installation.report !== undefined) return installation.report.progress(outcome, signal);
  const wrote = installation.writing();
  const report = openReport({ component, installation }, deps, signal);
  await report.finish(outcome, signal);
  await report.told();
  wrote(report.latest);
}

/** Of a cluster that is lost the attempts tell, and of one that is being left nothing is claimed. */
function mayDoubt(
  { spec, metadata }: Component,
  { spokes }: Pick<ReconcileDeps, "spokes">,
): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  const ref = spec?.clusterProfileRef;
  return ref === undefined || spokes.state(ref)?.kind === "connected";
}
