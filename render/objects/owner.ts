import type { OwnerReference } from "../../api/kubernetes.ts";
import type { Transform } from "../transform.ts";

/**
 * Makes one object the only owner of everything in its namespace; objects elsewhere lose their owners, because an owner must
 * be in the same namespace. A twin, of no namespace, is a second one. Not part of `render`, because it differs for each cluster. Spec: knative-operator.md 3.13.
 */
export function owned(owner: OwnerReference, namespace: string, twin?: OwnerReference): Transform {
  return (manifest) => {
    if (manifest.metadata.namespace === namespace) {
      const ownerReferences = twin === undefined ? [owner] : [owner, twin];
      return { ...manifest, metadata: { ...manifest.metadata, ownerReferences } };
    }
    const { ownerReferences, ...metadata } = manifest.metadata;
    return ownerReferences === undefined ? manifest : { ...manifest, metadata };
  };
}
