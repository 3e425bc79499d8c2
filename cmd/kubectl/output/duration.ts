import { goDurationMs } from "../../../api/go-duration.ts";
import { UsageError } from "../errors.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Time since an RFC 3339 time, in the form of kubectl. `<unknown>` without a valid time. */
export function ageOf(since: string | null | undefined, now: Date): string {
  const start = Date.parse(since ?? "");
  return Number.isNaN(start) ? "<unknown>" : humanDuration(now.getTime() - start);
}

/** Formats times for a table. */
export type TimeText = (time: string | null | undefined) => string;

/** Formats times as ages in the form of kubectl, or with `absolute` leaves them as they are. */
export function timeText(absolute: boolean, now: Date): TimeText {
  if (!absolute) return (time) => ageOf(time, now);
  return (time) => (time === null || time === undefined || time === "" ? "<unknown>" : time);
}

/** A span in milliseconds, in the form of kubectl: two units for short spans of each unit, or else one. */
export function humanDuration(spanMs: number): string {
  const seconds = Math.trunc(spanMs / second);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (spanMs < 2 * minute) return `${seconds}s`;
  if (spanMs < 10 * minute) return twoUnits(spanMs, [minute, "m"], [second, "s"]);
  if (spanMs < 3 * hour) return `${Math.trunc(spanMs / minute)}m`;
  if (spanMs < 8 * hour) return twoUnits(spanMs, [hour, "h"], [minute, "m"]);
  return longDuration(spanMs);
}

function longDuration(spanMs: number): string {
  if (spanMs < 2 * day) return `${Math.trunc(spanMs / hour)}h`;
  if (spanMs < 8 * day) return twoUnits(spanMs, [day, "d"], [hour, "h"]);
  const year = 365 * day;
  if (spanMs < 2 * year) return `${Math.trunc(spanMs / day)}d`;
  if (spanMs < 8 * year) return twoUnits(spanMs, [year, "y"], [day, "d"]);
  return `${Math.trunc(spanMs / year)}y`;
}

type Unit = readonly [lengthMs: number, letter: string];

function twoUnits(spanMs: number, [large, largeLetter]: Unit, [small, smallLetter]: Unit): string {
  const rest = Math.trunc((spanMs % large) / small);
  const whole = `${Math.trunc(spanMs / large)}${largeLetter}`;
  return rest === 0 ? whole : `${whole}${rest}${smallLetter}`;
}

/** Parses a duration in Go's format, or days such as `14d`, to milliseconds; undefined for other text. */
export function spanMsOf(text: string): number | undefined {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  return days === undefined ? goDurationMs(text) : Number(days) * day;
}

/**
 * Parses a duration such as `500ms`, `10s` or `1m30s` into milliseconds. A number without a unit means seconds, as for `--request-timeout` of kubectl.
 * Throws UsageError for other texts, negative durations and more than a day.
 */
export function parseDurationMs(text: string, flag: string): number {
  const spanMs = goDurationMs(/^\d+$/.test(text) ? `${text}s` : text);
  if (spanMs !== undefined && spanMs >= 0 && spanMs <= day) return spanMs;
  const wanted =
    spanMs !== undefined && spanMs > day ? "at most 24h" : "a duration such as 10s or 1m30s";
  throw new UsageError(`Invalid value "${text}" for ${flag}: want ${wanted}`);
}

// As for kubectl wait.
const weekMs = 7 * day;

/** Parses the time limit of a command. A negative duration stands for a week. Throws UsageError. */
export function parseTimeoutMs(text: string, flag: string): number {
  const spanMs = goDurationMs(/^-\d+$/.test(text) ? `${text}s` : text) ?? 0;
  return spanMs < 0 ? weekMs : parseDurationMs(text, flag);
}
