import { abortable } from "../../access/deadline.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import type { NamespacedName, ObjectKey } from "../../api/kubernetes.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../queue/clock.ts";
import type { HubUsers } from "./policy.ts";
import { type AnchorProtection, beginning, type Protection } from "./protection.ts";

/** The way to the cluster that is guarded. */
export interface GuardWay {
  readonly client: KubeClient;
  readonly fieldManager: string;
  /** Aborted when the connection must not be used any more. */
  readonly signal: AbortSignal;
}

export interface ClusterGuardOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly hubId: string;
  /** Shared with the guards of all clusters. */
  readonly users: HubUsers;
  readonly protection: Exclude<AnchorProtection, "None">;
  /** Whether CRDs are guarded, too. */
  readonly crds: boolean;
  /** What is known of the protection has changed. */
  readonly onChange: () => void;
  /** Nobody used the confirmation to delete an object within 15 minutes; `of`: the components that it holds or anchors. */
  readonly onWithdrawn: (key: ObjectKey, of: readonly Component[]) => void;
  /** Pace in ms at which enforcement is proven again; default 10 minutes. */
  readonly recheckMs?: number;
}

/** An installation whose anchor is to be protected. */
export interface Ward {
  readonly component: Component;
  readonly anchor: NamespacedName;
  /** Nothing was ever installed for the component; then the cluster has probably no policies yet. Default false. */
  readonly isNew?: boolean;
}

/** What a guard knows of the protection on its cluster, and who waits for that. */
export class GuardState {
  readonly #signal: AbortSignal;
  readonly #onChange: () => void;
  #protection = beginning;
  /** Whether anchors may be made; undefined while that is being found out. */
  #isOpen: boolean | undefined;
  /** Whether objects get a second owner; undefined while that is being found out. */
  #isSecondOwnerNeeded: boolean | undefined;
  #isUnderWay = false;
  #turn = Promise.withResolvers<void>();
  /** Why the guard could not be installed; undefined where the protection itself says that. */
  failure: unknown;

  /** `signal` ends with the connection; `onChange` is called when the protection is another one. */
  constructor(signal: AbortSignal, onChange: () => void) {
    this.#signal = signal;
    this.#onChange = onChange;
  }

  /** What is known of the protection now. */
  get protection(): Protection {
    return this.#protection;
  }

  /**
   * Resolves when an anchor may be made: the policies are written, or something is there in their place. Whether they are enforced shows in
   * `protection`, later. Throws FleetError `AnchorUnprotected`, or the error of the connection.
   */
  async ready(signal: AbortSignal): Promise<void> {
    while (this.#isOpen === undefined) await this.#nextTurn(signal);
    if (this.#isOpen) return;
    throw this.#whyNot();
  }

  /** Resolves when the policies are on their way to the cluster, or will not be. */
  async underWay(signal: AbortSignal): Promise<void> {
    while (!this.#isUnderWay) await this.#nextTurn(signal);
  }

  /** Whether objects are to have a second owner besides the anchor. Throws the error of the connection. */
  async needsSecondOwner(signal: AbortSignal): Promise<boolean> {
    while (this.#isSecondOwnerNeeded === undefined) {
      if (this.#isOpen === false) throw this.#whyNot();
      await this.#nextTurn(signal);
    }
    return this.#isSecondOwnerNeeded;
  }

  /** The first requests about policies were sent. */
  noteSent(): void {
    this.#isUnderWay = true;
    this.#turn.resolve();
  }

  /** The policies are there as they should be. Anchors may be made: nobody waits for the proof, which takes seconds. */
  noteSettled(): void {
    this.#isSecondOwnerNeeded = false;
    this.#isOpen = true;
    this.#turn.resolve();
  }

  /** Decides about the second owner; `say` follows. */
  setSecondOwner(isNeeded: boolean): void {
    this.#isSecondOwnerNeeded = isNeeded;
  }

  /** No anchor may be made until `say` or `noteSettled` allows it again. */
  close(): void {
    this.#isOpen = undefined;
  }

  /** Nothing is known any more; what is known of the second owner stays. */
  reset(): void {
    this.#isOpen = undefined;
    this.#isUnderWay = false;
    this.#protection = beginning;
  }

  /** Tells what is known of the protection now, and whether anchors may be made. */
  say(protection: Protection, { isOpen }: { readonly isOpen?: boolean }): void {
    const { reason, message } = this.#protection;
    const isNews = reason !== protection.reason || message !== protection.message;
    this.#protection = protection;
    this.#isOpen = isOpen;
    this.#isUnderWay = true;
    this.#turn.resolve();
    if (isNews) this.#onChange();
  }

  async #nextTurn(signal: AbortSignal): Promise<void> {
    const turn = this.#turn.promise;
    await abortable(turn, AbortSignal.any([signal, this.#signal]));
    if (this.#turn.promise === turn) this.#turn = Promise.withResolvers();
  }

  #whyNot(): unknown {
    if (this.failure instanceof FleetError) return this.failure;
    const { message } = this.#protection;
    const text = `The anchor is not made, because nothing would protect it: ${message}`;
    return new FleetError("AnchorUnprotected", text, { cause: this.failure });
  }
}
