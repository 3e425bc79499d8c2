/** The fast clocks of all programs that one test file starts show the same time, so that what they write into Leases agrees. */
const originMs = Date.now();

const preload = import.meta.resolve("./fast-clock.ts");

/** Arguments of Node for a program whose clock runs `factor` times as fast. */
export function clockArguments(factor: number): readonly string[] {
  return factor === 1 ? [] : [`--import=${preload}`];
}

/** What such a program needs in its environment. */
export function clockEnvironment(factor: number): Readonly<Record<string, string>> {
  if (factor === 1) return {};
  return { FAST_CLOCK_FACTOR: String(factor), FAST_CLOCK_ORIGIN_MS: String(originMs) };
}
