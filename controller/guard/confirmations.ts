import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { logFailure } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { pointerOf } from "../../api/json-pointer.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import { keyOf } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";
import { guardAnnotations } from "../../installation/anchor.ts";
import type { Log } from "../log.ts";

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
const lifetimeMs = 900_000;
const retryMs = 60_000;

/**
 * Withdraws confirmations that nobody used within 15 minutes after this connection first saw them: the objects have no time of the confirmation, and clocks of
 * clusters differ. Until then everybody with the right to delete the object can delete it. Spec: anchor-guard.md 8.
 */
export class Confirmations {
  readonly #options: ConfirmationsOptions;
  /** By uid of the object. */
  #timers = new Map<string, { readonly value: string; readonly timer: Disposable }>();

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => this.forget(), { once: true });
  }

  /** Has to be called with each object as it was read. */
  note(object: KubeObject, resource: ResourceType): void {
    const { uid, annotations = {} } = object.metadata;
    const value = annotations[confirmDeletion];
    const known = this.#timers.get(uid);
    if (known?.value === value || this.#options.signal.aborted) return;
    known?.timer[Symbol.dispose]();
    this.#timers.delete(uid);
    if (value === undefined) return;
    this.#withdrawAfter(lifetimeMs, { object, resource, value });
  }

  #withdrawAfter(ms: number, confirmation: Confirmation): void {
    const { uid } = confirmation.object.metadata;
    const timer = this.#options.clock.after(ms, () => {
      this.#timers.delete(uid);
      void this.#withdraw(confirmation);
    });
    this.#timers.set(uid, { value: confirmation.value, timer });
  }

  async #withdraw(confirmation: Confirmation): Promise<void> {
    const { object, resource } = confirmation;
    const timers = this.#timers;
    const { client, fieldManager, log, onWithdrawn, signal } = this.#options;
    const { namespace, name, uid } = object.metadata;
    const path = pointerOf("metadata", "annotations", confirmDeletion);
    const patch = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "remove", path },
    ];
    const ref = namespace === undefined ? { resource, name } : { resource, namespace, name };
    try {
      await client.patch(ref, patch, { fieldManager, metadataOnly: true }, signal);
      onWithdrawn(keyOf(object));
    } catch (err) {
      // The object is gone, or somebody else removed the confirmation.
      const isOver = err instanceof ApiError && [404, 422].includes(err.status);
      if (isOver || signal.aborted) return;
      logFailure(log, "warn", { err }, "A confirmation could not be withdrawn");
      const isForgotten = this.#timers !== timers;
      if (!isForgotten && !timers.has(uid)) this.#withdrawAfter(retryMs, confirmation);
    }
  }

  /** Leaves all confirmations that were seen until now as they are. */
  forget(): void {
    for (const { timer } of this.#timers.values()) timer[Symbol.dispose]();
    this.#timers = new Map();
  }
}
