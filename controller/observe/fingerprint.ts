import { createHash } from "node:crypto";

import { canonicalJson } from "../../api/canonical-json.ts";
import type { Manifest } from "../../api/kubernetes.ts";

/**
 * Hash of the fields that our server-side apply owns on an object, or undefined when it owns none: it changes exactly when somebody
 * else changes or removes a field of ours (but for re-ordered keyed lists). Spec: engine-facts.md 3.
 */
export function fingerprintOf(object: Manifest, fieldManager: string): string | undefined {
  const entry = object.metadata.managedFields?.find(
    ({ manager, operation, subresource }) =>
      manager === fieldManager && operation === "Apply" && (subresource ?? "") === "",
  );
  if (entry?.fieldsV1 === undefined) return undefined;
  return createHash("sha256")
    .update(canonicalJson(entry.fieldsV1))
    .digest("base64url")
    .slice(0, 22);
}
