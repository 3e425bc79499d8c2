import { limitsOf } from "../action.ts";
import type { Flags } from "../flags.ts";
import { openProgress } from "../output/progress.ts";
import type { Terminal } from "../output/terminal.ts";
import type { ReadLimits } from "./read-clusters.ts";

/** How a command reads many clusters. */
export interface OpenReading {
  readonly limits: ReadLimits;
  /** Takes away what a terminal shows of the progress. */
  readonly end: () => void;
}

/** The limits that a command line sets; whoever reads within them shows how far it has come, until `end`. */
export function openReading(flags: Flags, { stderr }: Pick<Terminal, "stderr">): OpenReading {
  const { update, end } = openProgress(flags.quiet ? undefined : stderr, flags);
  return { limits: limitsOf(flags, update), end };
}
