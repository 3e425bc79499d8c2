import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import { keyOf } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { guardAnnotations } from "../../installation/anchor.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../queue/clock.ts";

export interface ConfirmationsOptions {
  readonly client: Pick<KubeClient, "patch">;
  readonly fieldManager: string;
  readonly clock: Clock;
  readonly log: Log;
  /** An unused confirmation was withdrawn. */
  readonly onWithdrawn: (key: ObjectKey) => void;
  readonly signal: AbortSignal;
}

interface Confirmation {
  readonly object: KubeObject;
  readonly resource: ResourceType;
  readonly value: string;
}

const { confirmDeletion } = guardAnnotations;
const patienceMs = 900_000;
const retryMs = 60_000;

/**
 * Takes confirmations back that nobody uses within a quarter of an hour of when they were first seen: as long as one is there everybody who may
 * delete the object can. Spec: anchor-guard.md 8.
 */
export class Confirmations {
  readonly #options: ConfirmationsOptions;
  /** By uid of the object. */
  #timers = new Map<string, { readonly value: string; readonly timer: Disposable }>();

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => this.forget(), { once: true });
  }

  /** An object as it was read just now. */
  saw(object: KubeObject, resource: ResourceType): void {
    const { uid, annotations = {} } = object.metadata;
    const value = annotations[confirmDeletion];
    const known = this.#timers.get(uid);
    if (known?.value === value || this.#options.signal.aborted) return;
    known?.timer[Symbol.dispose]();
    this.#timers.delete(uid);
    if (value === undefined) return;
    this.#withdrawAfter(patienceMs, { object, resource, value });
  }

  #withdrawAfter(ms: number, one: Confirmation): void {
    const { uid } = one.object.metadata;
    const timer = this.#options.clock.after(ms, () => {
      this.#timers.delete(uid);
      void this.#withdraw(one);
    });
    this.#timers.set(uid, { value: one.value, timer });
  }

  async #withdraw(one: Confirmation): Promise<void> {
    const { object, resource } = one;
    const memory = this.#timers;
    const { client, fieldManager, log, onWithdrawn, signal } = this.#options;
    const { namespace, name, uid } = object.metadata;
    const path = `/metadata/annotations/${confirmDeletion.replace("/", "~1")}`;
    const patch = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "remove", path },
    ];
    const ref = namespace === undefined ? { resource, name } : { resource, namespace, name };
    try {
      await client.patch(ref, patch, { fieldManager, metadataOnly: true }, signal);
      onWithdrawn(keyOf(object));
    } catch (err) {
      // Gone, or withdrawn by somebody else.
      const isOver = err instanceof ApiError && [404, 422].includes(err.status);
      if (isOver || signal.aborted) return;
      log.warn({ err }, "A confirmation could not be withdrawn");
      const isForgotten = this.#timers !== memory;
      if (!isForgotten && !memory.has(uid)) this.#withdrawAfter(retryMs, one);
    }
  }

  /** Takes nothing back any more of what was seen until now. */
  forget(): void {
    for (const { timer } of this.#timers.values()) timer[Symbol.dispose]();
    this.#timers = new Map();
  }
}
