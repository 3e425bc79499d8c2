import { stringify } from "yaml";

import type { Manifest } from "../../../api/kubernetes.ts";

/** Objects as YAML documents, separated by `---`. */
export function yamlOf(objects: readonly Manifest[]): string {
  return objects.map(yamlOfObject).join("---\n");
}

/** One object as YAML; fields in their order in the release file. */
export function yamlOfObject(object: Manifest): string {
  // A reader of YAML 1.1, such as kubectl, would take a bare `on` for a boolean.
  return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false, version: "1.1" });
}
