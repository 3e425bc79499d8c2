import { accessCodes } from "./access-codes.ts";
import { hubCodes } from "./hub-codes.ts";
import { spokeCodes } from "./spoke-codes.ts";

/** What a code stands for. */
export interface KnfEntry {
  /** Short name for people. */
  readonly name: string;
  readonly meaning: string;
  /** One sentence about what to do next. */
  readonly next: string;
}

/**
 * Every finding that `kubectl knfleet` makes, by the number that scripts compare: KNF1xxx hub, 2xxx ClusterProfile, 3xxx provider and
 * plugin, 4xxx network and TLS, 5xxx identity and rights, 6xxx spoke. A code never changes its meaning and is never used again.
 */
export const knfCodes = {
  ...hubCodes,
  ...accessCodes,
  ...spokeCodes,
} as const satisfies Readonly<Record<string, KnfEntry>>;

export type KnfCode = keyof typeof knfCodes;
