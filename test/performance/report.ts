import type { AccessResult } from "./access-part.ts";
import { kilobytes, megabytes, seconds, tableOf } from "./figures.ts";
import type { Goal } from "./goals.ts";
import { requestsOf } from "./install-goals.ts";
import type { InstallResult } from "./install-part.ts";
import type { RenderResult } from "./render-part.ts";
import type { SteadyResult } from "./steady-part.ts";

const maxResidentBytes = 130_000_000;

function milliseconds(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}

/** Tables of all installations. */
export function installReport(results: readonly InstallResult[]): string {
  const times = tableOf(
    [
      "What",
      "RTT",
      "Objects",
      "kubectl",
      "Controller",
      "Ratio",
      "First word",
      "Ready",
      "Removed",
      "CPU",
    ],
    results.map((result) => [
      result.title,
      `${result.rttMs} ms`,
      String(result.objects),
      seconds(result.kubectl.appliedMs) +
        (result.kubectl.refused > 0 ? ` (${result.kubectl.refused} refused)` : ""),
      seconds(result.controller.appliedMs),
      (result.controller.appliedMs / result.kubectl.appliedMs).toFixed(3),
      seconds(result.controller.firstStatusMs),
      seconds(result.controller.readyMs),
      `${seconds(result.removal.elapsedMs)}, ${result.removal.requests} requests`,
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
  ].join("\n");
}

/** The steady minute. */
export function steadyReport(result: SteadyResult): string {
  return [
    "A minute in which nothing changes, two components on two spokes",
    tableOf(
      ["Requests", "Watches", "GET /readyz", "Sent", "Received", "CPU", "Memory", "Peak"],
      [
        [
          String(result.requests),
          String(result.watches),
          String(result.questions),
          kilobytes(result.sentBytes),
          kilobytes(result.receivedBytes),
          `${result.cpuMs} ms`,
          megabytes(result.residentBytes),
          megabytes(result.peakResidentBytes),
        ],
      ],
    ),
  ].join("\n");
}

/** What a steady minute may cost. */
export function steadyGoals(result: SteadyResult): readonly Goal[] {
  return [
    {
      text: "Steady minute: requests to spokes, without watches and GET /readyz",
      value: result.requests,
      limit: 0,
    },
    {
      text: "Steady minute: requests to the hub, without watches",
      value: result.hubRequests,
      limit: 0,
    },
    {
      text: "Steady minute: writes of the anchors' guard",
      value: result.guardWrites,
      limit: 0,
    },
    {
      text: "Steady minute: resident memory with two spokes",
      value: result.residentBytes,
      limit: maxResidentBytes,
      show: megabytes,
    },
  ];
}

/** Rendering of a fleet. */
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
  ].join("\n");
}

/** What rendering of a fleet may cost. */
export function renderGoals(results: readonly RenderResult[]): readonly Goal[] {
  return results.flatMap(({ title, cpuMs, grownBytes }) => [
    { text: `Rendering ${title}: time on one core`, value: cpuMs, limit: 1_500, show: seconds },
    {
      text: `Rendering ${title}: memory that it adds`,
      value: grownBytes,
      limit: 60_000_000,
      show: megabytes,
    },
  ]);
}

/** What the way to spokes with built-in readers may cost. */
export function accessGoals(result: AccessResult): readonly Goal[] {
  const { spokes, rested, flapped } = result;
  return [
    {
      text: "Resolve, connect and first request, RTT 0",
      value: result.firstRequestMs,
      limit: 25,
      show: milliseconds,
    },
    { text: "Round trips when cold", value: result.coldRoundTrips, limit: 4 },
    { text: `${spokes} spokes from cold`, value: result.engagedMs, limit: 6_000, show: seconds },
    {
      text: "Memory of a connection to a spoke without components",
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
}

function byVerb(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([verb, count]) => `${verb} ${count}`)
    .join(", ");
}
