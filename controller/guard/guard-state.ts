import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { abortable, Follower } from "../../access/time/deadline.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import type { NamespacedName, ObjectKey } from "../../api/kubernetes.ts";
import type { Log } from "../log.ts";
import type { HubUsers } from "./policy.ts";
import { type AnchorProtection, initialProtection, type Protection } from "./protection.ts";

/** The connection to the cluster that is guarded. */
export interface GuardConnection {
  readonly client: KubeClient;
  readonly fieldManager: string;
  /** Aborted when the connection ends. */
  readonly signal: AbortSignal;
}

export interface ClusterGuardOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly hubId: string;
  /** Shared with the guards of all clusters. */
  readonly users: HubUsers;
  readonly protection: Exclude<AnchorProtection, "None">;
  /** Whether CRDs are guarded as well. */
  readonly crds: boolean;
  /** The protection has changed. */
  readonly onChange: () => void;
  /** The confirmation to delete an object was withdrawn after 15 minutes. `components`: those whose anchor the object is, or holds. */
  readonly onWithdrawn: (key: ObjectKey, components: readonly Component[]) => void;
  /** Interval in ms of the recheck. Default 10 minutes. */
  readonly recheckMs?: number;
}

/** An installation whose anchor the guard protects. */
export interface GuardedInstallation {
  readonly component: Component;
  readonly anchor: NamespacedName;
  /** Nothing was ever installed for the component, so that the cluster has probably no policies. Default false. */
  readonly isNew?: boolean;
}

/** What a guard knows about the protection on its cluster, and the callers that wait for it. */
export class GuardState {
  readonly #signal: AbortSignal;
  readonly #onChange: () => void;
  #protection = initialProtection;
  /** Whether anchors may be created. Undefined: not known yet. */
  #isOpen: boolean | undefined;
  /** Whether objects get a second owner. Undefined: not known yet. */
  #isSecondOwnerNeeded: boolean | undefined;
  #isSent = false;
  #change = Promise.withResolvers<void>();
  /** Why the guard could not be installed. Undefined where the message of the protection says that. */
  failure: unknown;

  /** `signal` ends with the connection. `onChange` is called when reason or message of the protection change. */
  constructor(signal: AbortSignal, onChange: () => void) {
    this.#signal = signal;
    this.#onChange = onChange;
  }

  /** The protection of the anchors, as far as it is known. */
  get protection(): Protection {
    return this.#protection;
  }

  /**
   * Resolves when an anchor may be created: the policies are written, or a second owner replaces them. The proof that they are enforced comes later
   * and shows in `protection`. Throws FleetError `AnchorUnprotected`, or the error of the connection.
   */
  async waitUntilOpen(signal: AbortSignal): Promise<void> {
    while (this.#isOpen === undefined) await this.#waitForChange(signal);
    if (this.#isOpen) return;
    throw this.#closedError();
  }

  /** Resolves when the policies were sent, or when it is known that they will not be. */
  async waitUntilSent(signal: AbortSignal): Promise<void> {
    while (!this.#isSent) await this.#waitForChange(signal);
  }

  /** Whether objects need a second owner besides the anchor. Waits until that is known. Throws the error of the connection. */
  async needsSecondOwner(signal: AbortSignal): Promise<boolean> {
    while (this.#isSecondOwnerNeeded === undefined) {
      if (this.#isOpen === false) throw this.#closedError();
      await this.#waitForChange(signal);
    }
    return this.#isSecondOwnerNeeded;
  }

  /** Has to be called when the first requests about policies were sent. */
  noteSent(): void {
    this.#isSent = true;
    this.#change.resolve();
  }

  /** Has to be called when the policies are as desired. Anchors may be created without the proof, which takes seconds. */
  noteSettled(): void {
    this.#isSecondOwnerNeeded = false;
    this.#isOpen = true;
    this.#change.resolve();
  }

  /** Decides about the second owner. `setProtection` has to follow. */
  setSecondOwner(isNeeded: boolean): void {
    this.#isSecondOwnerNeeded = isNeeded;
  }

  /** Lets no anchor be created until `setProtection` or `noteSettled` allows it again. */
  close(): void {
    this.#isOpen = undefined;
  }

  /** Forgets everything except the decision about the second owner. */
  reset(): void {
    this.#isOpen = undefined;
    this.#isSent = false;
    this.#protection = initialProtection;
  }

  /** Sets the protection, and whether anchors may be created. */
  setProtection(protection: Protection, { isOpen }: { readonly isOpen?: boolean }): void {
    const { reason, message } = this.#protection;
    const isChanged = reason !== protection.reason || message !== protection.message;
    this.#protection = protection;
    this.#isOpen = isOpen;
    this.#isSent = true;
    this.#change.resolve();
    if (isChanged) this.#onChange();
  }

  async #waitForChange(signal: AbortSignal): Promise<void> {
    const change = this.#change.promise;
    using end = new Follower(signal, this.#signal);
    await abortable(change, end.signal);
    if (this.#change.promise === change) this.#change = Promise.withResolvers();
  }

  #closedError(): unknown {
    if (this.failure instanceof FleetError) return this.failure;
    const { message } = this.#protection;
    const text = `The anchor is not made, because nothing would protect it: ${message}`;
    return new FleetError("AnchorUnprotected", text, { cause: this.failure });
  }
}
