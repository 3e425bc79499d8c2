import { Cron } from "croner";

import { goDurationMs } from "../api/go-duration.ts";

/** Share of a stage for limits that the set does not say. */
export const usualShare = "10%";

/** A number of clusters, or a percentage such as `10%`. */
export type Share = number | string | undefined;

/** The number of clusters that a share of a stage is, rounded down; a percentage above 0 gives at least `least`. */
export function shareOf(share: Share, size: number, least: 0 | 1): number {
  if (typeof share === "number") return share;
  const percent = Number(/^(\d{1,3})%$/.exec(share ?? "")?.[1] ?? 0);
  return percent === 0 ? 0 : Math.max(least, Math.floor((size * percent) / 100));
}

/** How many clusters of a stage, or of a part of it, may change at the same time. */
export function concurrencyOf(maxConcurrency: Share, size: number): number {
  return Math.max(1, shareOf(maxConcurrency ?? usualShare, size, 1));
}

/** Ms of a duration of a set; `standIn` when it is absent. */
export function durationOf(text: string | undefined, standIn: number): number {
  return text === undefined ? standIn : (goDurationMs(text) ?? standIn);
}

/** A time in which clusters may start. */
export interface Window {
  readonly cron: string;
  readonly duration: string;
  readonly timeZone?: string;
}

/** Whether one of the windows is open, and when (ms since the epoch) that changes. */
export interface Opening {
  readonly isOpen: boolean;
  readonly changesAt: number | undefined;
}

/** A window is open from the time that its cron expression names, for its duration. No windows: always open. */
export function openingOf(windows: readonly Window[], now: number): Opening {
  if (windows.length === 0) return { isOpen: true, changesAt: undefined };
  const openings = windows.map((window) => openingOfOne(window, now));
  const isOpen = openings.some((opening) => opening.isOpen);
  const times = openings.flatMap((opening) =>
    opening.isOpen === isOpen && opening.changesAt !== undefined ? [opening.changesAt] : [],
  );
  if (times.length === 0) return { isOpen, changesAt: undefined };
  return { isOpen, changesAt: isOpen ? Math.max(...times) : Math.min(...times) };
}

function openingOfOne(window: Window, now: number): Opening {
  // The webhook refuses such a window, but may not have seen it.
  if (windowProblem(window) !== undefined) return { isOpen: false, changesAt: undefined };
  const { cron, duration, timeZone = "UTC" } = window;
  const schedule = new Cron(cron, { timezone: timeZone, paused: true });
  const lengthMs = durationOf(duration, 0);
  const next = runAfter(schedule, now - lengthMs);
  if (next === undefined || next > now) return { isOpen: false, changesAt: next };
  return { isOpen: true, changesAt: lastRun(schedule, next, now) + lengthMs };
}

/**
 * The last run until now; `known` is an earlier run. When windows overlap, the window that began last closes last. There may be one window a minute
 * for a week.
 */
function lastRun(schedule: Cron, known: number, now: number): number {
  let [last, end] = [known, now];
  while (end - last >= 60_000) {
    const middle = Math.floor((last + end) / 2);
    const run = runAfter(schedule, middle) ?? Number.POSITIVE_INFINITY;
    if (run <= now) last = run;
    else end = middle;
  }
  return last;
}

/** In an hour that the clocks repeat, croner names a run of the first time, which is over. */
function runAfter(schedule: Cron, time: number): number | undefined {
  const run = schedule.nextRun(new Date(time))?.getTime();
  if (run === undefined || run > time) return run;
  return schedule.nextRun(new Date(time + 3_600_000))?.getTime();
}

/** Why a window can never open, and the field that has to change; undefined when it can. */
export function windowProblem({
  cron,
  timeZone = "UTC",
}: Window): { readonly field: "cron" | "timeZone"; readonly message: string } | undefined {
  if (!isTimeZone(timeZone)) {
    return { field: "timeZone", message: "must be an IANA name such as Europe/Berlin" };
  }
  // A sixth field would be seconds.
  if (cron.trim().split(/\s+/).length !== 5) {
    return { field: "cron", message: "must have five fields: minute hour day month weekday" };
  }
  try {
    const next = new Cron(cron, { timezone: timeZone, paused: true }).nextRun();
    return next === null ? { field: "cron", message: "never comes to pass" } : undefined;
  } catch {
    return { field: "cron", message: "is no cron expression" };
  }
}

function isTimeZone(name: string): boolean {
  // An offset such as +02:00 is no name, though Node knows it.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
