import { UsageError } from "./usage-error.ts";

const unitsMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/**
 * Milliseconds of a duration such as `500ms`, `10s` or `1m30s`; a bare number means seconds, as for kubectl's
 * `--request-timeout`. Throws UsageError for anything else and for more than a day.
 */
export function parseDurationMs(text: string, flag: string): number {
  const spans = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smh])/gy)];
  const read = spans.map(([span]) => span).join("");
  const totalMs = /^\d+$/.test(text)
    ? Number(text) * unitsMs.s
    : spans.reduce((sum, [, amount, unit]) => sum + Number(amount) * unitLengthMs(unit), 0);
  const wellFormed = /^\d+$/.test(text) || (spans.length > 0 && read === text);
  if (!wellFormed || totalMs > 24 * unitsMs.h) {
    throw new UsageError(
      `Invalid value "${text}" for ${flag}: want a duration such as 10s or 1m30s`,
    );
  }
  return totalMs;
}

function unitLengthMs(unit: string | undefined): number {
  return Object.entries(unitsMs).find(([name]) => name === unit)?.[1] ?? 0;
}
