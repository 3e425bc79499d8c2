import { isRecord } from "../api/fields.ts";
import type { Manifest } from "../api/kubernetes.ts";
import { changeField } from "../render/fields.ts";
import { containerIn, isPingSourceAdapter, nameOf, variablesOf } from "./hand-over.ts";

const containers = ["spec", "template", "spec", "containers", "*"];

/**
 * The manifest of the PingSource adapter with its variables in the order in which they are on the cluster, of which upstream's operator has one of its own: another
 * order is another template, for which pods are replaced. Any other manifest as it is. Spec: knative-operator.md 3.20.
 */
export function inLiveOrder(manifest: Manifest, live: Manifest): Manifest {
  if (!isPingSourceAdapter(manifest)) return manifest;
  return changeField(manifest, containers, (container) => {
    const order = variablesOf(containerIn(live, nameOf(container))).map(nameOf);
    const variables = variablesOf(container);
    if (!isRecord(container) || variables.length === 0) return container;
    const placeOf = (variable: unknown): number => {
      const place = order.indexOf(nameOf(variable));
      return place < 0 ? order.length : place;
    };
    return { ...container, env: variables.toSorted((a, b) => placeOf(a) - placeOf(b)) };
  });
}
