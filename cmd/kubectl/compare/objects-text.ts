import { stringify } from "yaml";

import type { Manifest } from "../../../api/kubernetes.ts";

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
