import { isRecord } from "../api/fields.ts";
import type { KubeObject } from "../api/kubernetes.ts";

/**
 * Whether a Job has ended, with success or not. Metadata-only watches have the managedFields, which show this: the status of an ended Job has a
 * completion time or conditions. A suspended Job counts as ended.
 */
export function isFinished(object: KubeObject): boolean {
  const written = statusFieldsOf(object);
  return written.has("f:completionTime") || written.has("f:conditions");
}

/**
 * Whether an ended Job may have failed, from its managedFields. A successful Job has a completion time. A Job that is about to get it (condition
 * SuccessCriteriaMet) has succeeded pods, and failed pods only after a retry.
 */
export function mayHaveFailed(object: KubeObject): boolean {
  const written = statusFieldsOf(object);
  if (!isFinished(object) || written.has("f:completionTime")) return false;
  const hasSucceeded = written.has("f:succeeded") || isSuccessUncounted(written);
  return written.has("f:failed") || !hasSucceeded;
}

function isSuccessUncounted(written: ReadonlyMap<string, unknown>): boolean {
  const pods = written.get("f:uncountedTerminatedPods");
  return isRecord(pods) && pods["f:succeeded"] !== undefined;
}

/** Fields of the status that have a writer. */
function statusFieldsOf({
  metadata: { managedFields = [] },
}: KubeObject): ReadonlyMap<string, unknown> {
  const fields = managedFields.flatMap(({ subresource, fieldsV1 }) => {
    const status = subresource === "status" && isRecord(fieldsV1) ? fieldsV1["f:status"] : {};
    return isRecord(status) ? Object.entries(status) : [];
  });
  return new Map(fields);
}

/**
 * Jobs of ours, by identity. `live`: it was there when it was last seen. `stray`: it is there without our label. A Job that is neither is gone, because it has done its
 * work.
 */
export type JobSights = ReadonlyMap<string, "live" | "stray">;

/** A Job of ours exists. */
export function withLiveJob(jobs: JobSights, id: string): JobSights {
  return jobs.get(id) === "live" ? jobs : new Map(jobs).set(id, "live");
}

/** A live Job is not shown by the watch any more, and it was asked for. */
export function withVanishedJob(jobs: JobSights, id: string, isThere: boolean): JobSights {
  const after = new Map(jobs);
  if (isThere) after.set(id, "stray");
  else after.delete(id);
  return after;
}
