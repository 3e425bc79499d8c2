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

/** Distinguishes Jobs that are gone, because they have done their work, from Jobs that only lost our label. */
export class VanishedJobs {
  readonly #seen = new Set<string>();
  readonly #strays = new Set<string>();

  /** A Job of ours exists. */
  saw(id: string): void {
    this.#seen.add(id);
    this.#strays.delete(id);
  }

  /** Whether a Job that the watch does not show exists without our label. `look` is called once each time the Job vanishes. */
  async isStray(id: string, look: () => Promise<boolean>): Promise<boolean> {
    if (this.#seen.has(id)) {
      const isThere = await look();
      this.#seen.delete(id);
      if (isThere) this.#strays.add(id);
    }
    return this.#strays.has(id);
  }
}
