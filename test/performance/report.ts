import type { AccessResult } from "./access-part.ts";
import { kilobytes, megabytes, seconds, tableOf } from "./figures.ts";
import type { InstallResult } from "./install-part.ts";
import type { RenderResult } from "./render-part.ts";
import type { SteadyResult } from "./steady-part.ts";

/** A goal, what was measured, and whether it was met. */
interface Goal {
  readonly text: string;
  readonly value: number;
  readonly limit: number;
  readonly show?: (value: number) => string;
}

const ratioGoals: ReadonlyMap<number, number> = new Map([
  [0, 0.75],
  [50, 0.2],
  [200, 0.1],
]);
const maxRequestsPerObject = 1.15;
const maxResidentBytes = 130_000_000;

/** Requests of an installation but its watches, which go on when it is done. */
function requestsOf({ controller }: InstallResult): number {
  return Object.entries(controller.requests)
    .filter(([verb]) => verb !== "watch")
    .reduce((sum, [, count]) => sum + count, 0);
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}

function perThousandth(value: number): string {
  return value.toFixed(3);
}

/** Tables of all installations, and how they compare with the goals. */
export function installReport(results: readonly InstallResult[]): string {
  const times = tableOf(
    ["What", "RTT", "Objects", "kubectl", "Controller", "Ratio", "Ready", "Removed", "CPU"],
    results.map((result) => [
      result.title,
      `${result.rttMs} ms`,
      String(result.objects),
      seconds(result.kubectl.appliedMs) +
        (result.kubectl.refused > 0 ? ` (${result.kubectl.refused} refused)` : ""),
      seconds(result.controller.appliedMs),
      (result.controller.appliedMs / result.kubectl.appliedMs).toFixed(3),
      seconds(result.controller.readyMs),
      seconds(result.removeMs),
      `${result.controller.cpuMs} ms`,
    ]),
  );
  const traffic = tableOf(
    ["What", "RTT", "Who", "Requests", "By verb", "Sent", "Received"],
    results.flatMap((result) => [
      [
        result.title,
        `${result.rttMs} ms`,
        "controller",
        String(requestsOf(result)),
        byVerb(result.controller.requests),
        kilobytes(result.controller.sentBytes),
        kilobytes(result.controller.receivedBytes),
      ],
      [
        result.title,
        `${result.rttMs} ms`,
        "kubectl",
        String(result.kubectl.requests),
        "",
        kilobytes(result.kubectl.sentBytes),
        kilobytes(result.kubectl.receivedBytes),
      ],
    ]),
  );
  return [
    "Time from the component's creation until all is applied (median), against kubectl apply --server-side",
    times,
    "",
    "Traffic with the spoke until Ready; requests are counted without watches",
    traffic,
    "",
    goalTable(results.flatMap(goalsOf)),
  ].join("\n");
}

function goalsOf(result: InstallResult): readonly Goal[] {
  const { title, rttMs, objects, controller, kubectl } = result;
  const ratio = ratioGoals.get(rttMs);
  return [
    ...(ratio === undefined
      ? []
      : [
          {
            text: `${title}, RTT ${rttMs} ms: time against kubectl`,
            value: controller.appliedMs / kubectl.appliedMs,
            limit: ratio,
            show: perThousandth,
          },
        ]),
    {
      text: `${title}, RTT ${rttMs} ms: most writes of one object`,
      value: controller.mostWritesOfAnObject,
      limit: 1,
    },
    {
      text: `${title}, RTT ${rttMs} ms: requests per object`,
      value: requestsOf(result) / objects,
      limit: maxRequestsPerObject,
      show: perThousandth,
    },
  ];
}

/** The steady minute, and how it compares with the goals. */
export function steadyReport(result: SteadyResult): string {
  return [
    "A minute in which nothing changes, two components on two spokes",
    tableOf(
      ["Requests", "Watches", "Sent", "Received", "CPU", "Memory", "Peak"],
      [
        [
          String(result.requests),
          String(result.watches),
          kilobytes(result.sentBytes),
          kilobytes(result.receivedBytes),
          `${result.cpuMs} ms`,
          megabytes(result.residentBytes),
          megabytes(result.peakResidentBytes),
        ],
      ],
    ),
    "",
    goalTable([
      { text: "Requests in a steady minute, without watches", value: result.requests, limit: 0 },
      {
        text: "Resident memory with two spokes",
        value: result.residentBytes,
        limit: maxResidentBytes,
        show: megabytes,
      },
    ]),
  ].join("\n");
}

/** Rendering of a fleet, and how it compares with the goals. */
export function renderReport(results: readonly RenderResult[]): string {
  return [
    "Rendering of 1,000 components from cold, of which 950 are equal (median)",
    tableOf(
      ["What", "Components", "Different sets", "Time", "CPU", "Memory"],
      results.map(({ title, components, sets, elapsedMs, cpuMs, grownBytes }) => [
        title,
        String(components),
        String(sets),
        seconds(elapsedMs),
        seconds(cpuMs),
        megabytes(grownBytes),
      ]),
    ),
    "",
    goalTable(
      results.flatMap(({ title, cpuMs, grownBytes }) => [
        { text: `${title}: time on one core`, value: cpuMs, limit: 1_500, show: seconds },
        {
          text: `${title}: memory that rendering adds`,
          value: grownBytes,
          limit: 60_000_000,
          show: megabytes,
        },
      ]),
    ),
  ].join("\n");
}

/** The way to spokes with built-in readers, and how it compares with the goals. */
export function accessReport(result: AccessResult): string {
  const { spokes, rested, flapped } = result;
  const rows: readonly Goal[] = [
    {
      text: "Resolve, connect and first request, RTT 0",
      value: result.firstRequestMs,
      limit: 25,
      show: milliseconds,
    },
    { text: "Round trips when cold", value: result.coldRoundTrips, limit: 4 },
    { text: `${spokes} spokes from cold`, value: result.engagedMs, limit: 6_000, show: seconds },
    {
      text: "Memory of an idle spoke",
      value: result.bytesPerSpoke,
      limit: 750_000,
      show: kilobytes,
    },
    {
      text: `Memory after ${result.flips} flips of profiles, ${Math.round(result.flipsPerSecond)}/s: ${megabytes(rested.liveBytes)} before, ${megabytes(flapped.liveBytes)} after`,
      value: Math.max(0, flapped.liveBytes - rested.liveBytes),
      limit: 10_000_000,
      show: megabytes,
    },
    {
      text: `Sockets that they add: ${rested.sockets} before, ${flapped.sockets} after`,
      value: Math.max(0, flapped.sockets - rested.sockets),
      limit: 0,
    },
    {
      text: `Flips a second that are missing to ${10 * spokes}`,
      // The last step is a little late.
      value: Math.max(0, Math.round(9.9 * spokes - result.flipsPerSecond)),
      limit: 0,
    },
  ];
  return ["The way to a spoke, with a built-in reader", goalTable(rows)].join("\n");
}

function goalTable(goals: readonly Goal[]): string {
  return tableOf(
    ["Goal", "At most", "Measured", "Met"],
    goals.map(({ text, value, limit, show = String }) => [
      text,
      show(limit),
      show(value),
      value <= limit ? "yes" : "NO",
    ]),
  );
}

function byVerb(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([verb, count]) => `${verb} ${count}`)
    .join(", ");
}
