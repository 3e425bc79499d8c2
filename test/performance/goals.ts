import { tableOf } from "./figures.ts";

/** A goal and what was measured; met when the value is at most the limit. */
export interface Goal {
  readonly text: string;
  readonly value: number;
  readonly limit: number;
  readonly show?: (value: number) => string;
}

/** All goals with their figures, and whether they were met. */
export function goalTable(goals: readonly Goal[]): string {
  return tableOf(
    ["Goal", "At most", "Measured", "Met"],
    goals.map(({ text, value, limit, show = String }) => [
      text,
      show(limit),
      show(value),
      value <= limit ? "yes" : "NO",
    ]),
  );
}
