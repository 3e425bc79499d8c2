import {
  operatorApiVersion,
  type ClusterProfileRef,
  type Component,
} from "../../../api/component.ts";

/** A component that is none, for a cluster that is to be read whether or not it has one; without a ClusterProfile for the hub itself. */
export function standIn(ref: ClusterProfileRef | undefined): Component {
  return {
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: { namespace: "", name: "", uid: "", resourceVersion: "" },
    spec: ref === undefined ? {} : { clusterProfileRef: ref },
  };
}
