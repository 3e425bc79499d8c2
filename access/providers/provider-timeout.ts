const defaultMs = 30_000;
const minMs = 1_000;
const maxMs = 300_000;
const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** A `timeout` of the provider file in ms, such as `30s` or `1m30s`; undefined when it is no duration from 1 s to 5 min. */
export function timeoutMsOf(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return defaultMs;
  if (!/^(?:\d{1,6}(?:\.\d{1,3})?(?:ms|s|m))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([\d.]+)(ms|s|m)/g)];
  const sum = parts.reduce(
    (ms, [, count = "", unit = ""]) => ms + Number(count) * (units[unit] ?? 0),
    0,
  );
  return sum >= minMs && sum <= maxMs ? sum : undefined;
}
