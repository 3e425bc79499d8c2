import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { type Fields } from "./fields.ts";
import { listIn } from "./pod-template.ts";

/** An environment variable of a container: its name, and its value or where that comes from. */
type Variable = Fields & { readonly name: string };

/**
 * The container with variables set one after the other; one that has none gets the list as it is. Throws FleetError
 * ManifestInvalid. Spec: knative-operator.md 3.9.
 */
export function withVariables(
  container: Fields,
  variables: readonly Variable[],
  manifest: Manifest,
): Fields {
  if (variables.length === 0) return container;
  return listIn(container, "env", manifest).length === 0
    ? { ...container, env: variables }
    : variables.reduce((current, variable) => withVariable(current, variable, manifest), container);
}

/**
 * The container with a variable in place of the one of that name, or as its last one. Throws FleetError ManifestInvalid.
 */
export function withVariable(container: Fields, variable: Variable, manifest: Manifest): Fields {
  const env = listIn(container, "env", manifest);
  const isIt = (entry: unknown): boolean => isRecord(entry) && entry["name"] === variable.name;
  const after = env.some(isIt)
    ? env.map((entry) => (isIt(entry) ? variable : entry))
    : [...env, variable];
  return { ...container, env: after };
}
