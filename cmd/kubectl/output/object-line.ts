import type { ClusterProfileRef } from "../../../api/component.ts";
import { plainText } from "../../../api/foreign-text.ts";
import { groupOf } from "../../../api/kubernetes.ts";
import { objectName } from "../hub/installation-name.ts";

/** An object of a cluster as `-o name` writes it, safe for a terminal. */
export function objectLine(
  cluster: ClusterProfileRef | null,
  object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string | null;
    readonly name: string;
  },
): string {
  const { apiVersion, kind, namespace, name } = object;
  const group = groupOf(apiVersion);
  const type = `${kind.toLowerCase()}${group === "" ? "" : `.${group}`}`;
  return plainText(objectName(cluster, { namespace: namespace ?? "", type, name }));
}
