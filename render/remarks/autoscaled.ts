import type { Component } from "../../api/component.ts";
import { type FieldProblem, below, quoteValue } from "../../api/field-path.ts";
import { recordAt } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { isWorkload } from "../workloads/pod-template.ts";
import { isAutoscaler, scaledBy } from "../workloads/scaling.ts";

/**
 * The replicas of overrides that an autoscaler takes for its least number. None for 0, which takes the autoscaler away, and none for the least number that the release
 * has: nothing else was to be expected.
 */
export function autoscaledReplicas(
  { spec = {} }: Component,
  released: readonly Manifest[],
  rendered: readonly (Manifest | undefined)[],
): readonly FieldProblem[] {
  const usual = autoscalersIn(released);
  const autoscalers = autoscalersIn(rendered);
  return (["deployments", "workloads"] as const).flatMap((field) =>
    (spec[field] ?? []).flatMap(({ name, replicas = 0 }, index) => {
      const autoscaler = autoscalers.get(name);
      if (autoscaler === undefined || replicas === 0) return [];
      const { minReplicas, maxReplicas } = boundsOf(autoscaler);
      const { minReplicas: least } = boundsOf(usual.get(name));
      if (minReplicas === maxReplicas || (replicas === least && replicas === minReplicas)) {
        return [];
      }
      const of = quoteValue(autoscaler.metadata.name);
      const message = `the autoscaler ${of} keeps ${rangeOf(autoscaler)} pods; for a fixed number, give it equal minReplicas and maxReplicas by a patch`;
      return [{ path: below("spec", field, index, "replicas"), message }];
    }),
  );
}

/** Patches of the replicas of workloads that an autoscaler scales: these replicas are the autoscaler's, and never sent. */
export function autoscaledPatches(
  usual: readonly (Manifest | undefined)[],
  rendered: readonly (Manifest | undefined)[],
): readonly FieldProblem[] {
  const autoscalers = autoscalersIn(rendered);
  return rendered.flatMap((manifest, index) => {
    if (manifest === undefined || !isWorkload(manifest)) return [];
    const name = manifest.metadata.name ?? "";
    const autoscaler = autoscalers.get(name);
    const [before, now] = [usual[index], manifest].map((one) => recordAt(one, "spec")["replicas"]);
    if (autoscaler === undefined || before === now) return [];
    const keeps = `keeps ${rangeOf(autoscaler)} pods of ${name}`;
    const message = `the autoscaler ${quoteValue(autoscaler.metadata.name)} ${keeps}, whatever a patch of its replicas says; for none, set replicas: 0 in spec.workloads; for a fixed number, patch minReplicas and maxReplicas of the autoscaler`;
    return [{ path: "spec.patches", message }];
  });
}

function boundsOf(autoscaler: Manifest | undefined) {
  const { minReplicas = 1, maxReplicas } = recordAt(autoscaler, "spec");
  return { minReplicas, maxReplicas };
}

function rangeOf(autoscaler: Manifest): string {
  const { minReplicas, maxReplicas } = boundsOf(autoscaler);
  return `${String(minReplicas)} to ${String(maxReplicas)}`;
}

/** The autoscalers by the names of what they scale. */
function autoscalersIn(
  manifests: readonly (Manifest | undefined)[],
): ReadonlyMap<string, Manifest> {
  return new Map(
    manifests.flatMap((one) =>
      one !== undefined && isAutoscaler(one) ? [[scaledBy(one), one] as const] : [],
    ),
  );
}
