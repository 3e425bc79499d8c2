import type { Component } from "../../api/component.ts";
import { type FieldProblem, below, quoteValue } from "../../api/field-path.ts";
import { recordAt } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { isAutoscaler, scaledBy } from "../workloads/scaling.ts";

/** The replicas of overrides that an autoscaler takes for its least number. None for 0, which takes the autoscaler away. */
export function autoscaledReplicas(
  { spec = {} }: Component,
  rendered: readonly (Manifest | undefined)[],
): readonly FieldProblem[] {
  const autoscalers = new Map(
    rendered.flatMap((one) =>
      one !== undefined && isAutoscaler(one) ? [[scaledBy(one), one] as const] : [],
    ),
  );
  return (["deployments", "workloads"] as const).flatMap((field) =>
    (spec[field] ?? []).flatMap(({ name, replicas = 0 }, index) => {
      const autoscaler = autoscalers.get(name);
      if (autoscaler === undefined || replicas === 0) return [];
      const { minReplicas = 1, maxReplicas } = recordAt(autoscaler, "spec");
      if (minReplicas === maxReplicas) return [];
      const of = quoteValue(autoscaler.metadata.name);
      const range = `${String(minReplicas)} to ${String(maxReplicas)}`;
      const message = `the autoscaler ${of} keeps ${range} pods; for a fixed number, give it equal minReplicas and maxReplicas by a patch`;
      return [{ path: below("spec", field, index, "replicas"), message }];
    }),
  );
}
