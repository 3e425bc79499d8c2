import type { RenderingFlags } from "../../compare/rendering-options.ts";

/** Flags of `check` alone. */
export interface CheckFlags extends RenderingFlags {
  readonly filename?: readonly string[];
  readonly warnWithin?: string;
  readonly failOn?: string;
  readonly execTimeout?: string;
}
