import type { RenderingFlags } from "../../compare/rendering-options.ts";

/** Flags of `diff` alone. */
export interface DiffFlags extends RenderingFlags {
  readonly between?: readonly string[];
}
