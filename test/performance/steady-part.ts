import { setTimeout as delay } from "node:timers/promises";

import { create, ready } from "../e2e/installation.ts";
import { guardWritesTo, questionsTo, requestsTo } from "../e2e/requests.ts";
import { usageOf } from "./process-usage.ts";
import type { Workbench } from "./workbench.ts";

/** A minute in which nothing changes, both components installed and Ready on two spokes. */
export interface SteadyResult {
  readonly minuteMs: number;
  /** Requests to both spokes that were neither watches nor questions. */
  readonly requests: number;
  /** The same to the hub, of a controller without leader election. */
  readonly hubRequests: number;
  /** Policies of the guard of the anchors that were written, on the hub and both spokes. */
  readonly guardWrites: number;
  readonly watches: number;
  /** How often a spoke that said nothing for a while was asked how it is, with `GET /readyz`. */
  readonly questions: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly cpuMs: number;
  readonly residentBytes: number;
  readonly peakResidentBytes: number;
}

const minuteMs = 60_000;

/** Installs both components at RTT 0, lets the controller settle for 5 s and watches it for a minute. */
export async function measureSteady(
  { fleet, controller, subjects }: Workbench,
  say: (line: string) => void,
): Promise<SteadyResult> {
  say("Steady state: installing both components");
  for (const { kind, profile } of subjects) await create(fleet.hub, { kind, on: profile });
  for (const { kind } of subjects) await ready(fleet.hub, kind);
  await delay(5_000);
  say("Steady state: watching for a minute");
  const since = new Date();
  for (const { spoke } of subjects) spoke.proxy.resetCounts();
  const before = await usageOf(controller.pid);
  await delay(minuteMs);
  const after = await usageOf(controller.pid);
  const counts = subjects.map(({ spoke }) => spoke.proxy.counts);
  const requests = (
    await Promise.all(subjects.map(({ spoke }) => requestsTo(spoke, since)))
  ).flat();
  const toHub = await requestsTo(fleet.hub, since);
  const questions = await Promise.all(subjects.map(({ spoke }) => questionsTo(spoke, since)));
  const clusters = [fleet.hub, ...subjects.map(({ spoke }) => spoke)];
  const guardWrites = await Promise.all(clusters.map((cluster) => guardWritesTo(cluster, since)));
  const watches = requests.filter(({ verb }) => verb === "watch").length;
  return {
    minuteMs,
    requests: requests.length - watches,
    hubRequests: toHub.filter(({ verb }) => verb !== "watch").length,
    guardWrites: guardWrites.flat().length,
    watches,
    questions: questions.reduce((sum, count) => sum + count, 0),
    sentBytes: counts.reduce((sum, { bytesUp }) => sum + bytesUp, 0),
    receivedBytes: counts.reduce((sum, { bytesDown }) => sum + bytesDown, 0),
    cpuMs: after.cpuMs - before.cpuMs,
    residentBytes: after.residentBytes,
    peakResidentBytes: after.peakResidentBytes,
  };
}
