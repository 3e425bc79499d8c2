import type { ClusterProfileRef, ComponentKind } from "../../../api/component.ts";

/** An installation as `-o name` writes it and every command of kubectl reads it. */
export function nameOf({
  kind,
  name,
}: {
  readonly kind: ComponentKind;
  readonly name: string;
}): string {
  return `${kind.toLowerCase()}.operator.knative.dev/${name}`;
}

/** An object of a spoke as `-o name` writes it: `CLUSTER/NAMESPACE/TYPE/NAME`, the cluster with its namespace, the hub as `<hub>`. */
export function objectName(
  cluster: ClusterProfileRef | null,
  {
    namespace,
    type,
    name,
  }: { readonly namespace: string; readonly type: string; readonly name: string },
): string {
  const place = cluster === null ? "<hub>" : `${cluster.namespace}/${cluster.name}`;
  return [place, namespace, type, name].filter((part) => part !== "").join("/");
}
