import { stringify } from "yaml";

import { type Manifest, groupOf, identityOf, keyOf } from "../../../../api/kubernetes.ts";
import { unifiedDiff } from "./unified-diff.ts";

/** Objects as YAML documents, separated by `---`; piece by piece, because a fleet is longer than a string can be. */
export function* yamlOf(objects: readonly Manifest[]): Generator<string> {
  for (const [index, object] of objects.entries()) {
    yield `${index === 0 ? "" : "---\n"}${yamlOfObject(object)}`;
  }
}

/** One object as YAML; fields in their order in the release file. */
export function yamlOfObject(object: Manifest): string {
  // A reader of YAML 1.1, such as kubectl, would take a bare `on` for a boolean.
  return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false, version: "1.1" });
}

/** Objects as one JSON array, piece by piece. */
export function* jsonOf(objects: readonly Manifest[]): Generator<string> {
  yield "[";
  for (const [index, object] of objects.entries()) {
    const text = JSON.stringify(object, null, 2).replaceAll(/^/gm, "  ");
    yield `${index === 0 ? "" : ","}\n${text}`;
  }
  yield "\n]\n";
}

/** Objects and what they are called in a diff. */
interface DiffSet {
  readonly label: string;
  readonly objects: readonly Manifest[];
}

/** One unified diff per object that differs: those of the right side in their order, then those that only the left side has. */
export function objectDiff(
  left: DiffSet,
  right: DiffSet,
  textOf: (object: Manifest) => string,
): string {
  const before = new Map(left.objects.map((one) => [identityOf(keyOf(one)), one]));
  const after = new Map(right.objects.map((one) => [identityOf(keyOf(one)), one]));
  const ids = new Set([...after.keys(), ...before.keys()]);
  return [...ids]
    .map((id) => {
      const [old, now] = [before.get(id), after.get(id)];
      const path = pathOf(now ?? old);
      return unifiedDiff(
        { name: `${left.label}/${path}`, text: old && textOf(old) },
        { name: `${right.label}/${path}`, text: now && textOf(now) },
      );
    })
    .join("");
}

/** `apps.v1.Deployment.knative-serving.activator`, as kubectl diff names objects. */
function pathOf(object: Manifest | undefined): string {
  if (object === undefined) return "";
  const { apiVersion, kind, metadata } = object;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  return [groupOf(apiVersion), version, kind, metadata.namespace, metadata.name]
    .filter((part) => part !== undefined && part !== "")
    .join(".");
}
