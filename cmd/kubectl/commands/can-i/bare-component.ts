import {
  operatorApiVersion,
  type ClusterProfileRef,
  type Component,
  type ComponentKind,
} from "../../../../api/component.ts";

/** A component that exists nowhere, with nothing in its spec but the cluster that it would be installed on. */
export function bareComponent(
  kind: ComponentKind,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  clusterProfileRef?: ClusterProfileRef,
): Component {
  return {
    apiVersion: operatorApiVersion,
    kind,
    metadata: { namespace, name, uid: "", resourceVersion: "" },
    ...(clusterProfileRef === undefined ? {} : { spec: { clusterProfileRef } }),
  };
}
