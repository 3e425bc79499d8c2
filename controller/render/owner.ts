import type { OwnerReference } from "../../api/kubernetes.ts";
import type { Transform } from "./transform.ts";

/**
 * Makes one object the only owner of everything in its namespace; objects elsewhere lose their owners, because an owner must
 * be in the same namespace. Not part of `render`, because it differs for each cluster. Spec: knative-operator.md 3.13.
 */
export function owned(owner: OwnerReference, namespace: string): Transform {
  return (manifest) => {
    if (manifest.metadata.namespace === namespace) {
      return { ...manifest, metadata: { ...manifest.metadata, ownerReferences: [owner] } };
    }
    const { ownerReferences, ...metadata } = manifest.metadata;
    return ownerReferences === undefined ? manifest : { ...manifest, metadata };
  };
}
