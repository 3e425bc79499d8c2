import type { Condition } from "../../api/kubernetes.ts";
import { contestedCondition, protectedCondition } from "../../api/reasons.ts";

/** What a controller on the spoke tells of a component that was brought there by a work. */
export interface Told {
  readonly conditions: readonly Omit<Condition, "lastTransitionTime">[];
  /** The version that is installed; absent before it is known. */
  readonly version?: string;
  /** The content of a set that is applied; see set-content.ts. */
  readonly content?: string;
}

/** The conditions without those that come and go, and that the spoke does not tell any more. */
export function withoutUntold(
  conditions: readonly Condition[],
  { conditions: told }: Told,
): readonly Condition[] {
  const comeAndGo: readonly string[] = [contestedCondition, protectedCondition];
  return conditions.filter(
    ({ type }) => !comeAndGo.includes(type) || told.some((one) => one.type === type),
  );
}
