import { createHash } from "node:crypto";

import { canonicalJson } from "../api/canonical-json.ts";
import { interned } from "../api/interned.ts";
import type { ManagedFieldsEntry, Manifest } from "../api/kubernetes.ts";

/**
 * Hash of the fields that our server-side apply owns on an object, or undefined when it owns none: it changes exactly when somebody
 * else changes or removes a field of ours (but for re-ordered keyed lists). Spec: engine-facts.md 3.
 */
export function fingerprintOf(object: Manifest, fieldManager: string): string | undefined {
  const entry = ownEntry(object, fieldManager);
  if (entry?.fieldsV1 === undefined) return undefined;
  const digest = createHash("sha256").update(canonicalJson(entry.fieldsV1)).digest("base64url");
  // One is kept for each object of each cluster, and most are the same on all of them.
  return interned(digest.slice(0, 22));
}

/**
 * When our server-side apply last changed something on an object, in whole seconds by the clock of the server: it moves with nobody else's write, nor
 * with an apply that changes nothing. Undefined when it owns no field. Spec: engine-facts.md 3.
 */
export function appliedAtOf(object: Manifest, fieldManager: string): number | undefined {
  const { time = "" } = ownEntry(object, fieldManager) ?? {};
  const at = Date.parse(time);
  // V8 keeps numbers of 32 bits without an object for each.
  return Number.isNaN(at) ? undefined : Math.trunc(at / 1_000);
}

/** What our server-side apply owns on an object, as its managedFields say. */
export function ownEntry(
  { metadata }: Pick<Manifest, "metadata">,
  fieldManager: string,
): ManagedFieldsEntry | undefined {
  return metadata.managedFields?.find((entry) => isOwnEntry(entry, fieldManager));
}

/** Whether an entry of managedFields is of our server-side apply, and not of a subresource. */
export function isOwnEntry(
  { manager, operation, subresource = "" }: ManagedFieldsEntry,
  fieldManager: string,
): boolean {
  return manager === fieldManager && operation === "Apply" && subresource === "";
}
