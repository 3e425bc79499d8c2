import type { ActionInput } from "../action.ts";

/** Flags of `gather` alone. */
export interface GatherFlags {
  readonly dryRun?: boolean;
  readonly live?: boolean;
  readonly tail?: string;
  /** Value of `-o` that is no format. */
  readonly file?: string;
}

export type GatherInput = ActionInput<GatherFlags>;
