import { isRecord } from "../../api/fields.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";

/** Whether an object is a Job of Kubernetes. */
export function isJob({ apiVersion, kind }: Pick<ObjectKey, "apiVersion" | "kind">): boolean {
  return kind === "Job" && apiVersion.startsWith("batch/");
}

/**
 * Whether a Job has come to its end, well or not. Told by its managed fields, which its metadata has: what writes its status has
 * set a time of completion or conditions, of which a Job that goes on has none. One that was suspended counts as at its end.
 */
export function isFinished({ metadata: { managedFields = [] } }: KubeObject): boolean {
  return managedFields.some(({ subresource, fieldsV1 }) => {
    const status = subresource === "status" && isRecord(fieldsV1) ? fieldsV1["f:status"] : {};
    return isRecord(status) && ["f:completionTime", "f:conditions"].some((name) => name in status);
  });
}
