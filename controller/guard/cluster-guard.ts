import { Follower } from "../../access/deadline.ts";
import { ApiError } from "../../access/kube/api-error.ts";
import type { Component } from "../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { delay } from "../queue/clock.ts";
import { Confirmations } from "./confirmations.ts";
import { establish, Unproven } from "./establish.ts";
import { type ClusterGuardOptions, GuardState, type GuardWay, type Ward } from "./guard-state.ts";
import { anchorsOf } from "./guarded-objects.ts";
import { removePolicies } from "./policy-objects.ts";
import { PolicyWatch } from "./policy-watch.ts";
import { isUnguarded, Prober } from "./prober.ts";
import { enforcedFor, type Protection } from "./protection.ts";
import { SelfQuestion } from "./whoami.ts";

/** Policies that are there and proven, and watched until it is disposed. */
interface Establishment extends Disposable {
  /** Aborted when one of them is not as it was any more, and when the guard ends. */
  readonly lasting: AbortSignal;
}

const configMaps = knownResource("v1", "ConfigMap");
const namespaces = knownResource("v1", "Namespace");
const usualRecheckMs = 600_000;
const refusedRetryMs = 600_000;
const unprovenRetryMs = 5_000;
const longestRetryMs = 30_000;

/**
 * The guard of one hub's anchors on one cluster, over one connection: installs the policies, proves that they are enforced, watches them,
 * puts them right, and proves it anew every ten minutes. Begins with the first ward and ends with the connection, or when the last anchor is
 * gone. Spec: anchor-guard.md 6, 8.
 */
export class ClusterGuard {
  readonly #way: GuardWay;
  readonly #options: ClusterGuardOptions;
  readonly #prober: Prober;
  readonly #wards = new Map<string, Ward>();
  readonly #confirmations: Confirmations;
  readonly #state: GuardState;
  #wasEnforced = false;
  readonly #self: SelfQuestion;
  /** The cluster was asked for policies before. */
  #hasLooked = false;
  #end: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(way: GuardWay, options: ClusterGuardOptions) {
    this.#way = way;
    this.#options = options;
    this.#prober = new Prober(way.client, options.hubId);
    this.#self = new SelfQuestion(way);
    this.#state = new GuardState(way.signal, options.onChange);
    this.#confirmations = new Confirmations({
      ...way,
      ...options,
      onWithdrawn: (key) => options.onWithdrawn(key, this.#concerned(key)),
    });
    way.signal.addEventListener("abort", () => options.users.leave(this), { once: true });
    if (options.protection === "TwinOwner") this.#useSecondOwner("TwinOwner", "by configuration");
  }

  /** What is known of the protection now. */
  get protection(): Protection {
    return this.#state.protection;
  }

  /** Policies are being installed or looked after. */
  get isAtWork(): boolean {
    return this.#end !== undefined;
  }

  /** Asks who the controller is there, so that the policies can be written as soon as there is something to protect. Writes nothing. */
  prepare(): void {
    if (this.isAtWork || this.#options.protection === "TwinOwner") return;
    this.#self.askAhead();
  }

  /** An installation is to be protected from now on; the first one starts the guard. */
  enrol(ward: Ward): void {
    this.#wards.set(ward.component.metadata.uid, ward);
    if (this.#end !== undefined || this.#options.protection === "TwinOwner") return;
    const end = new AbortController();
    this.#end = end;
    const signal = AbortSignal.any([end.signal, this.#way.signal]);
    this.#running = this.#running.then(() => this.#run(signal));
  }

  /** An anchor as it was read just now. */
  saw(anchor: KubeObject): void {
    this.#confirmations.saw(anchor, configMaps);
  }

  /** Resolves when an anchor may be made; see GuardState. */
  ready(signal: AbortSignal): Promise<void> {
    return this.#state.ready(signal);
  }

  /** Resolves when the policies are on their way to the cluster, or will not be. */
  underWay(signal: AbortSignal): Promise<void> {
    return this.#state.underWay(signal);
  }

  /** Whether objects are to have a second owner besides the anchor. Throws the error of the connection. */
  needsSecondOwner(signal: AbortSignal): Promise<boolean> {
    return this.#state.needsSecondOwner(signal);
  }

  /**
   * Removes the bindings and then the policies when no anchor of this hub is left on the cluster. Anchors that this process does not know keep them,
   * too. The process that removes the last anchor removes the policies, which are then not repaired any more.
   */
  async retire({ metadata }: Component, signal: AbortSignal): Promise<void> {
    this.#wards.delete(metadata.uid);
    const { hubId, log } = this.#options;
    if (!this.isAtWork || this.#wards.size > 0) return;
    const { client } = this.#way;
    if ((await anchorsOf(client, { hubId }, signal)).length > 0 || this.#wards.size > 0) return;
    this.#stop("The guard is not needed any more");
    const removal = this.#running.then(() => removePolicies(client, hubId, signal));
    // Whoever comes meanwhile begins when this is over.
    this.#running = removal.catch(() => undefined);
    await removal;
    log.info({}, "Removed the guard of anchors");
  }

  /**
   * The anchor of an installation is no longer for us to protect; without another one nothing more is sent, and the policies stay as they are.
   */
  withdraw({ metadata }: Component): void {
    if (!this.#wards.delete(metadata.uid) || this.#wards.size > 0) return;
    this.#confirmations.forget();
    this.#stop("The guard is to leave the cluster alone");
  }

  #stop(why: string): void {
    this.#end?.abort(new DOMException(why, "AbortError"));
    this.#options.users.leave(this);
    this.#end = undefined;
    this.#wasEnforced = false;
    this.#state.reset();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const isOver = (): boolean => signal.aborted;
    for (let failures = 0; !isOver(); failures += 1) {
      // Without wards the policies stay in force, but are no longer repaired.
      if (this.#wards.size === 0) this.#stop("The guard protects nothing any more");
      if (isOver()) return;
      try {
        using establishment = await this.#established(signal);
        failures = 0;
        while (await this.#lasted(establishment, signal));
      } catch (error) {
        if (isOver()) return;
        await this.#pause(this.#afterFailure(error, failures), signal);
      }
    }
  }

  /** Installs and proves; the watch sees what happens from then on. */
  async #established(signal: AbortSignal): Promise<Establishment> {
    const { client, fieldManager } = this.#way;
    const { hubId, crds, clock, log, users } = this.#options;
    const isFresh = !this.#hasLooked && this.#newest()?.isNew === true;
    this.#hasLooked = true;
    const self = this.#self.answer(signal);
    const lasting = new Follower(signal);
    const onDisturbed = (): void => lasting.abort(new DOMException("Disturbed", "AbortError"));
    let watch: PolicyWatch | undefined;
    const watchOver = (settled: readonly KubeObject[]): void => {
      watch ??= new PolicyWatch({ client, hubId, log, onDisturbed }, settled);
    };
    const dispose = (): void => {
      watch?.[Symbol.dispose]();
      lasting[Symbol.dispose]();
    };
    try {
      const { sharing, settled } = await establish(
        { client, fieldManager, hubId, crds, self, isFresh, clock, prober: this.#prober },
        {
          namespace: () => this.#newest()?.anchor.namespace,
          onUser: (policy, user) => {
            // Who has left does not come again by an answer that was late.
            signal.throwIfAborted();
            return users.join(policy, this, user);
          },
          onSent: () => {
            this.#state.noteSent();
          },
          onSettled: (objects) => {
            // While new ones are proven the probes see it when they go; two requests less until then.
            if (!isFresh) watchOver(objects.map(({ object }) => object));
            this.#noteRepairs(objects.map(({ before }) => before));
          },
        },
        signal,
      );
      watchOver(settled);
      this.#wasEnforced = true;
      this.#state.say(enforcedFor(sharing), { isOpen: true });
      return { lasting: lasting.signal, [Symbol.dispose]: dispose };
    } catch (error) {
      dispose();
      throw error;
    }
  }

  /** What had to be put right was not protected meanwhile. */
  #noteRepairs(before: readonly ("missing" | "different" | "equal")[]): void {
    this.#state.noteSettled();
    if (!this.#wasEnforced) return;
    if (before.includes("missing")) {
      const message = "The policy or its binding was deleted; it is there again and being proven";
      this.#state.say({ reason: "BindingMissing", message }, { isOpen: true });
    } else if (before.includes("different")) {
      const message = "The policy or its binding was changed; it is put right and being proven";
      this.#state.say({ reason: "Probing", message }, { isOpen: true });
    }
  }

  /** Waits until something is wrong, which is false, or the time has come to prove it anew and it was. */
  async #lasted({ lasting }: Establishment, signal: AbortSignal): Promise<boolean> {
    const { clock, recheckMs = usualRecheckMs, log, hubId } = this.#options;
    try {
      // Leaves nothing behind: an establishment lasts for weeks, and each of its rounds waits here.
      await delay(clock, recheckMs * (0.9 + 0.2 * Math.random()), lasting);
    } catch {
      signal.throwIfAborted();
      // Nobody may make an anchor until it is put right.
      this.#state.close();
      return false;
    }
    const { client } = this.#way;
    const anchors = [...this.#wards.values()].map(({ anchor }) => anchor);
    const onNamespace = (one: KubeObject): void => this.#confirmations.saw(one, namespaces);
    const work = { client, prober: this.#prober, hubId, anchors, onNamespace };
    if (!(await isUnguarded(work, signal))) return true;
    log.warn({}, "The API server would have let the anchor be deleted");
    const message = "The API server would have let the anchor be deleted; the guard is proven anew";
    this.#state.say({ reason: "NotEnforced", message }, {});
    return false;
  }

  /** How long to wait after a failure, in ms. */
  #afterFailure(error: unknown, failures: number): number {
    const { log } = this.#options;
    if (error instanceof Unproven) {
      this.#state.failure = undefined;
      const { reason, message } = error;
      if (reason === "NotEnforced") this.#state.say({ reason, message }, { isOpen: true });
      else this.#useSecondOwner(reason, message);
      return reason === "NotEnforced" ? unprovenRetryMs : refusedRetryMs;
    }
    if (error instanceof ApiError && error.status === 403) {
      this.#useSecondOwner("PolicyForbidden", "the controller may not install policies there");
      return refusedRetryMs;
    }
    log.debug({ err: error }, "The guard could not be installed");
    this.#state.failure = error;
    const message = "The guard could not be installed";
    this.#state.say({ reason: "NotEnforced", message }, { isOpen: false });
    return Math.min(1_000 * 2 ** Math.min(failures, 5), longestRetryMs);
  }

  /** Cluster without policies: a second owner instead, where that is allowed. */
  #useSecondOwner(reason: "PolicyForbidden" | "NotSupported" | "TwinOwner", why: string): void {
    const isAllowed = this.#options.protection !== "Policy";
    const instead = isAllowed
      ? "a second owner keeps the objects when the anchor is deleted"
      : "and --anchor-protection=Policy asks for them";
    this.#state.setSecondOwner(isAllowed);
    this.#state.say({ reason, message: `No policies, ${why}: ${instead}` }, { isOpen: isAllowed });
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await delay(this.#options.clock, ms, signal).catch(() => undefined);
  }

  #concerned({ kind, name, namespace }: ObjectKey): readonly Component[] {
    const house = kind === "Namespace" ? name : namespace;
    return [...this.#wards.values()]
      .filter(({ anchor }) => anchor.namespace === house)
      .filter(({ anchor }) => kind === "Namespace" || anchor.name === name)
      .map(({ component }) => component);
  }

  /** Its namespace is most likely to be there, or about to be. */
  #newest(): Ward | undefined {
    return [...this.#wards.values()].at(-1);
  }
}
