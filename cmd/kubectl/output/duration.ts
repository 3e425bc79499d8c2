import { goDurationMs } from "../../../api/go-duration.ts";
import { UsageError } from "../usage-error.ts";

const dayMs = 86_400_000;

/**
 * Milliseconds of a duration such as `500ms`, `10s` or `1m30s`; a bare number means seconds, as for kubectl's
 * `--request-timeout`. Throws UsageError for anything else, for less than nothing and for more than a day.
 */
export function parseDurationMs(text: string, flag: string): number {
  const spanMs = goDurationMs(/^\d+$/.test(text) ? `${text}s` : text);
  if (spanMs !== undefined && spanMs >= 0 && spanMs <= dayMs) return spanMs;
  throw new UsageError(`Invalid value "${text}" for ${flag}: want a duration such as 10s or 1m30s`);
}

// As for kubectl wait.
const weekMs = 7 * dayMs;

/** The same for how long a command may take: less than nothing stands for a week. Throws UsageError. */
export function parseTimeoutMs(text: string, flag: string): number {
  const spanMs = goDurationMs(/^-\d+$/.test(text) ? `${text}s` : text) ?? 0;
  return spanMs < 0 ? weekMs : parseDurationMs(text, flag);
}
