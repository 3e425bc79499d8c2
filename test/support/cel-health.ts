import { evaluate } from "@marcbachmann/cel-js";

import { isRecord, valueAt } from "../fleet/json-record.ts";

/** What an entry of `healthCheckExprs` of Flux says of objects of its kind. */
export interface HealthExpressions {
  readonly apiVersion: string;
  readonly kind: string;
  readonly inProgress: string;
  readonly failed: string;
  readonly current: string;
}

/** The health of an object by these expressions, in the order of Flux: an older status first, then each expression. Throws for an expression that cannot be evaluated. */
export function celHealth(
  { inProgress, failed, current }: HealthExpressions,
  object: unknown,
): "InProgress" | "Failed" | "Current" {
  const plain: unknown = JSON.parse(JSON.stringify(object));
  if (!isRecord(plain)) throw new Error("No object");
  const observed = valueAt(plain, "status", "observedGeneration");
  const generation = valueAt(plain, "metadata", "generation");
  if (observed !== undefined && observed !== generation) return "InProgress";
  if (evaluate(inProgress, plain) === true) return "InProgress";
  if (evaluate(failed, plain) === true) return "Failed";
  return evaluate(current, plain) === true ? "Current" : "InProgress";
}
