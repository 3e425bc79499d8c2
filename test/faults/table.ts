import type { FaultResult } from "./trial.ts";

/** The results as lines of text: fault, survived, time to converge, and what else is to be said below. */
export function tableOf(results: readonly FaultResult[], seed: number): string {
  const width = Math.max(...results.map(({ fault }) => fault.length), "fault".length);
  const line = (id: string, fault: string, rest: readonly [string, string]): string =>
    `${id.padEnd(5)} ${fault.padEnd(width)}  ${rest[0].padEnd(8)} ${rest[1].padStart(9)}`;
  const lines = results.flatMap(({ id, fault, survived, convergeMs, notes }) => [
    line(id, fault, [
      survived ? "yes" : "NO",
      convergeMs === undefined ? "-" : seconds(convergeMs),
    ]),
    ...notes.map((note) => `      ${note}`),
  ]);
  const lost = results.filter(({ survived }) => !survived).length;
  const sum = lost === 0 ? "All survived" : `${lost} of ${results.length} not survived`;
  return [line("", "fault", ["survived", "converged"]), ...lines, "", `${sum}; seed ${seed}`].join(
    "\n",
  );
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
