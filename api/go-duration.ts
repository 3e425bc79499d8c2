const unitsMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

// Go counts nanoseconds in 64 bits: some 292 years.
const longestMs = 2 ** 63 / 1e6;

/** Parses a duration in Go's format, such as `10s`, `1m30s`, `1.5h`, `500ms`, `-1s` or `0`, to milliseconds; undefined for other text, and for a duration that is too long for Go. */
export function goDurationMs(text: string): number | undefined {
  const [, sign = "", spans = ""] =
    /^([-+]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+|0)$/.exec(text) ?? [];
  if (spans === "") return undefined;
  let totalMs = 0;
  for (const [, amount = "", unit = ""] of spans.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)) {
    totalMs += Number(amount) * (unitsMs[unit] ?? 0);
  }
  if (totalMs > longestMs) return undefined;
  return sign === "-" ? -totalMs : totalMs;
}
