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

/** `secondOwner`: whether objects need a second owner besides the anchor. Undefined: not known yet. */
type State =
  /** The policies are about to be written. `isSent`: the first requests about them were sent. */
  | {
      readonly kind: "installing";
      readonly isSent: boolean;
      readonly secondOwner: boolean | undefined;
    }
  /** Anchors may be created. */
  | { readonly kind: "open"; readonly secondOwner: boolean }
  /** Nothing would protect an anchor. `failure`: the cause. Undefined where the message of the protection names the cause. */
  | {
      readonly kind: "closed";
      readonly failure: unknown;
      readonly secondOwner: boolean | undefined;
    };

/** The protection on one cluster as its guard knows it, and the callers that wait for it. */
export class GuardState {
  readonly #signal: AbortSignal;
  readonly #onChange: () => void;
  #protection = initialProtection;
  #state: State = { kind: "installing", isSent: false, secondOwner: undefined };
  #change = Promise.withResolvers<void>();

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
    while (this.#state.kind === "installing") await this.#waitForChange(signal);
    this.#throwIfClosed();
  }

  /** Resolves when the policies were sent, or when it is known that they will not be. */
  async waitUntilSent(signal: AbortSignal): Promise<void> {
    while (this.#state.kind === "installing" && !this.#state.isSent) {
      await this.#waitForChange(signal);
    }
  }

  /** Whether objects need a second owner besides the anchor. Waits until that is known. Throws the error of the connection. */
  async needsSecondOwner(signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const { secondOwner } = this.#state;
      if (secondOwner !== undefined) return secondOwner;
      this.#throwIfClosed();
      await this.#waitForChange(signal);
    }
  }

  /** Has to be called when the first requests about policies were sent. */
  noteSent(): void {
    if (this.#state.kind === "installing") this.#enter({ ...this.#state, isSent: true });
  }

  /** The policies are written. Anchors may be created without the proof, which takes seconds. */
  open(protection: Protection = this.#protection): void {
    this.#enter({ kind: "open", secondOwner: false }, protection);
  }

  /** A second owner replaces the policies. */
  openWithSecondOwner(protection: Protection): void {
    this.#enter({ kind: "open", secondOwner: true }, protection);
  }

  /** Policies are needed and not possible. A second owner is not allowed. */
  closeWithoutSecondOwner(protection: Protection): void {
    this.#enter({ kind: "closed", failure: undefined, secondOwner: false }, protection);
  }

  /** The policies could not be installed because of this failure. */
  close(protection: Protection, failure: unknown): void {
    const { secondOwner } = this.#state;
    this.#enter({ kind: "closed", failure, secondOwner }, protection);
  }

  /** The policies have to be installed again. Lets no anchor be created until then. */
  reinstall(protection: Protection = this.#protection): void {
    const { secondOwner } = this.#state;
    this.#enter({ kind: "installing", isSent: true, secondOwner }, protection);
  }

  /** Forgets everything except the decision about the second owner. Does not call `onChange`. */
  reset(): void {
    const { secondOwner } = this.#state;
    this.#state = { kind: "installing", isSent: false, secondOwner };
    this.#protection = initialProtection;
  }

  #enter(state: State, protection = this.#protection): void {
    const { reason, message } = this.#protection;
    this.#state = state;
    this.#protection = protection;
    this.#change.resolve();
    if (reason !== protection.reason || message !== protection.message) this.#onChange();
  }

  async #waitForChange(signal: AbortSignal): Promise<void> {
    const change = this.#change.promise;
    using end = new Follower(signal, this.#signal);
    await abortable(change, end.signal);
    if (this.#change.promise === change) this.#change = Promise.withResolvers();
  }

  #throwIfClosed(): void {
    if (this.#state.kind !== "closed") return;
    const { failure } = this.#state;
    if (failure instanceof FleetError) throw failure;
    const { message } = this.#protection;
    const text = `The anchor is not made, because nothing would protect it: ${message}`;
    throw new FleetError("AnchorUnprotected", text, { cause: failure });
  }
}
