import { seconds } from "./figures.ts";
import type { Goal } from "./goals.ts";
import type { InstallResult } from "./install-part.ts";

const ratios = {
  eventing: new Map([
    [0, 0.5],
    [50, 0.1],
    [200, 0.05],
  ]),
  // kubectl cannot install it in one run, and is waited for no second one.
  serving: new Map([
    [0, 0.75],
    [50, 0.2],
    [200, 0.1],
  ]),
} as const;
const removalMs: ReadonlyMap<number, number> = new Map([
  [0, 600],
  [50, 1_500],
]);
const maxRequestsPerObject = 1.1;
const maxRemovalRequests = 30;
const promptlyMs = 500;

/** Requests of an installation but its watches, which go on when it is done. */
export function requestsOf({ controller }: Pick<InstallResult, "controller">): number {
  return Object.entries(controller.requests)
    .filter(([verb]) => verb !== "watch")
    .reduce((sum, [, count]) => sum + count, 0);
}

/** What installations and their removals may cost. */
export function installGoals(results: readonly InstallResult[]): readonly Goal[] {
  return results.flatMap((result) => {
    const of = `${result.title}, RTT ${result.rttMs} ms:`;
    return [...timesOf(result, of), ...requestsGoalsOf(result, of), ...removalOf(result, of)];
  });
}

function timesOf({ name, rttMs, controller, kubectl }: InstallResult, of: string): readonly Goal[] {
  const ratio = ratios[name].get(rttMs);
  const value = controller.appliedMs / kubectl.appliedMs;
  return [
    ...(ratio === undefined
      ? []
      : [{ text: `${of} time against kubectl`, value, limit: ratio, show: perThousandth }]),
    {
      text: `${of} creation to the first conditions`,
      value: controller.firstStatusMs,
      limit: promptlyMs,
      show: seconds,
    },
    {
      text: `${of} last Deployment available to Ready`,
      value: controller.readyAfterAvailableMs,
      limit: promptlyMs,
      show: seconds,
    },
  ];
}

function requestsGoalsOf(result: InstallResult, of: string): readonly Goal[] {
  return [
    {
      text: `${of} most writes of one object`,
      value: result.controller.mostWritesOfAnObject,
      limit: 1,
    },
    {
      text: `${of} requests per object`,
      value: requestsOf(result) / result.objects,
      limit: maxRequestsPerObject,
      show: perThousandth,
    },
  ];
}

function removalOf({ rttMs, removal }: InstallResult, of: string): readonly Goal[] {
  const limit = removalMs.get(rttMs);
  return [
    ...(limit === undefined
      ? []
      : [{ text: `${of} removed and verified`, value: removal.elapsedMs, limit, show: seconds }]),
    { text: `${of} requests of a removal`, value: removal.requests, limit: maxRemovalRequests },
    { text: `${of} deletions after the anchor's`, value: removal.afterAnchor, limit: 0 },
  ];
}

function perThousandth(value: number): string {
  return value.toFixed(3);
}
