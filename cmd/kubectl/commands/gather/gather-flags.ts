import type { ActionInput } from "../../action.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";

/** Flags of `gather` alone. */
export interface GatherFlags extends RenderingFlags {
  readonly dryRun?: boolean;
  readonly live?: boolean;
  readonly tail?: string;
  readonly diff?: boolean;
  /** Value of `-o` that is no format. */
  readonly file?: string;
}

export type GatherInput = ActionInput<GatherFlags>;
