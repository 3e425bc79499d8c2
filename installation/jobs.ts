import { isRecord } from "../api/fields.ts";
import type { KubeObject } from "../api/kubernetes.ts";

/**
 * Whether a Job has come to its end, well or not. Told by its managed fields, which its metadata has: what writes its status has
 * set a time of completion or conditions, of which a Job that goes on has none. One that was suspended counts as at its end.
 */
export function isFinished(object: KubeObject): boolean {
  const written = statusFieldsOf(object);
  return written.has("f:completionTime") || written.has("f:conditions");
}

/**
 * Whether a Job that has come to its end may have failed. Told in the same way: only one that did its work has a time of completion, and one that is about to
 * have it (condition SuccessCriteriaMet) has pods that succeeded, and none that failed unless it had to try again.
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

/** The fields of the status that somebody wrote. */
function statusFieldsOf({
  metadata: { managedFields = [] },
}: KubeObject): ReadonlyMap<string, unknown> {
  const fields = managedFields.flatMap(({ subresource, fieldsV1 }) => {
    const status = subresource === "status" && isRecord(fieldsV1) ? fieldsV1["f:status"] : {};
    return isRecord(status) ? Object.entries(status) : [];
  });
  return new Map(fields);
}

/** What became of Jobs that were there: one that is gone has done its work, one that only lost our label has not gone. */
export class VanishedJobs {
  readonly #seen = new Set<string>();
  readonly #strays = new Set<string>();

  /** A Job is there and known as ours. */
  saw(id: string): void {
    this.#seen.add(id);
    this.#strays.delete(id);
  }

  /** Whether a Job that is not to be seen is there without our label; `look` is asked once each time that it vanishes. */
  async isStray(id: string, look: () => Promise<boolean>): Promise<boolean> {
    if (this.#seen.has(id)) {
      const isThere = await look();
      this.#seen.delete(id);
      if (isThere) this.#strays.add(id);
    }
    return this.#strays.has(id);
  }
}
