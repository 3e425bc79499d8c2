import { groupOf, identityOf, keyOf, type Manifest } from "../../../../api/kubernetes.ts";
import { unifiedDiff } from "./unified-diff.ts";

/** Objects and what they are called in a diff. */
export interface DiffSet {
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
