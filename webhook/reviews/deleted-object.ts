import { isSameJson, recordAt } from "../../api/fields.ts";
import { quoteValue } from "../rules/rule.ts";
import { type AdmissionRequest, placeOf, type Ruling } from "./review.ts";

/**
 * The ruling about an update of an object that is being deleted; undefined for other requests. The spec steers the deletion and no longer changes. Finalizers and
 * other metadata do, whatever is wrong with the spec, so that no deletion hangs. Only the stored deletionTimestamp counts.
 */
export function rulingOnDeleted(request: AdmissionRequest): Ruling | undefined {
  const { kind, object, oldObject } = request;
  if (typeof recordAt(oldObject, "metadata")["deletionTimestamp"] !== "string") return undefined;
  if (isSameJson(recordAt(object, "spec"), recordAt(oldObject, "spec"))) {
    return { violations: [], warnings: [] };
  }
  const { namespace, name } = placeOf(request);
  const message = `no longer changes, because ${kind.kind} ${quoteValue(`${namespace}/${name}`)} is being deleted`;
  return { violations: [{ rule: "deleting", path: "spec", message, code: 403 }], warnings: [] };
}
