import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { type Fields } from "../fields.ts";
import { listIn } from "./pod-template.ts";

/** An environment variable of a container: its name, and its value or where that comes from. */
type Variable = Fields & { readonly name: string };

/**
 * The container with the variables of lists set, one list after the other: each in place of those of its name, or as the last one. The
 * first list becomes that of a container without any, as it is. Throws FleetError ManifestInvalid. Spec: knative-operator.md 3.9.
 */
export function withVariables(
  container: Fields,
  lists: readonly (readonly Variable[])[],
  manifest: Manifest,
): Fields {
  const given = lists.filter(({ length }) => length > 0);
  if (given.length === 0) return container;
  const env = listIn(container, "env", manifest);
  const [before = [], ...rest] = env.length === 0 ? given : [env, ...given];
  const wanted = new Map(rest.flat().map((variable) => [nameOf(variable), variable]));
  const names = new Set(before.map(nameOf));
  const added = [...wanted].flatMap(([name, variable]) => (names.has(name) ? [] : [variable]));
  const kept = before.map((entry) => wanted.get(nameOf(entry)) ?? entry);
  return { ...container, env: [...kept, ...added] };
}

/** The container with a variable set as `withVariables` does it. Throws FleetError ManifestInvalid. */
export function withVariable(container: Fields, variable: Variable, manifest: Manifest): Fields {
  return withVariables(container, [[variable]], manifest);
}

function nameOf(entry: unknown): unknown {
  return isRecord(entry) ? entry["name"] : undefined;
}
