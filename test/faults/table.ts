import type { FaultResult } from "./trial.ts";

/** The results as lines of text: fault, survived, time to converge, and what else is to be said below. */
export function tableOf(results: readonly FaultResult[], seed?: number): string {
  const width = Math.max(...results.map(({ fault }) => fault.length), "fault".length);
  const line = (id: string, fault: string, rest: readonly [string, string]): string =>
    `${id.padEnd(5)} ${fault.padEnd(width)}  ${rest[0].padEnd(8)} ${rest[1].padStart(9)}`;
  const lines = results.flatMap(({ id, fault, survived, late, convergeMs, notes }) => [
    line(id, fault, [
      verdictOf({ survived, late }),
      convergeMs === undefined ? "-" : seconds(convergeMs),
    ]),
    ...late.map((figure) => `      LATE: ${figure}`),
    ...notes.map((note) => `      ${note}`),
  ]);
  const lost = results.filter(({ survived }) => !survived).length;
  const late = results.filter((one) => one.late.length > 0).length;
  const sum = [
    lost === 0 ? "All survived" : `${lost} of ${results.length} not survived`,
    ...(late === 0 ? [] : [`${late} later than the fault table allows`]),
  ].join(", ");
  const drawn = seed === undefined ? "" : `; seed ${seed}`;
  return [line("", "fault", ["survived", "converged"]), ...lines, "", `${sum}${drawn}`].join("\n");
}

function verdictOf({ survived, late }: Pick<FaultResult, "survived" | "late">): string {
  if (!survived) return "NO";
  return late.length === 0 ? "yes" : "LATE";
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
