import { ApiError } from "../../access/kube/api-error.ts";
import { logFailure } from "../../access/log.ts";
import { backoffMs } from "../../access/time/backoff.ts";
import { delay, pause } from "../../access/time/clock.ts";
import { Follower, isAborted } from "../../access/time/deadline.ts";
import type { Component } from "../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import { Confirmations } from "./confirmations.ts";
import { establish, Unproven } from "./establish.ts";
import {
  type ClusterGuardOptions,
  GuardState,
  type GuardConnection,
  type GuardedInstallation,
} from "./guard-state.ts";
import { anchorsOf } from "./guarded-objects.ts";
import { removePolicies, type SettledObject } from "./policy-objects.ts";
import { PolicyWatch } from "./policy-watch.ts";
import { Prober, recheck } from "./prober.ts";
import { enforcedProtection, type Protection, unproven } from "./protection.ts";
import { SelfQuestion } from "./whoami.ts";

/** Proven policies, watched until the disposal. */
interface Establishment extends Disposable {
  /** Aborted when a policy or binding changed, and when the guard ends. */
  readonly disturbed: AbortSignal;
  /** Aborted when a watch of them was interrupted since the last recheck began. */
  readonly doubted: () => AbortSignal;
  /** The recheck that begins now answers the interruptions so far. One that comes during it may be a new start of the API server after its answer. */
  readonly beginRecheck: () => void;
  /** The proven protection. */
  readonly proven: Protection;
}

/** Whether the guard installs or watches policies. `unused`: it never did. */
type Work =
  | { readonly kind: "unused" | "idle" }
  | { readonly kind: "running"; readonly end: Follower };

/** The work on the policies before they are installed again: none, or they were read, or they were also proven. */
type Before = "unread" | "read" | "proven";

/**
 * The result of the last recheck. `unanswered`: no answer, so that the next recheck follows soon. `lost`: the policies have to be installed and
 * proven again.
 */
type Recheck = "held" | "unanswered" | "lost";

const configMaps = knownResource("v1", "ConfigMap");
const namespaces = knownResource("v1", "Namespace");
const usualRecheckMs = 600_000;
/** From the interruption of a watch to the recheck: also the API server of a cluster that is started again and again is not asked more often. */
const doubtMs = 30_000;
const refusedRetryMs = 600_000;
const unprovenRetryMs = 5_000;
const failureBackoff = { firstMs: 1_000, longestMs: 30_000 };
/** For seconds after its start an API server refuses what it allows. So many refusals in a row are not believed where policies were proven, which takes 15 s. */
const doubtedRefusals = 4;

/**
 * The guard of one hub's anchors on one cluster, over one connection. It installs the policies, proves that the API server enforces them, watches
 * and repairs them, and repeats the proof every ten minutes, and half a minute after a watch was interrupted. It starts with the first installation and ends with the connection, or when the last
 * anchor is gone. Spec: anchor-guard.md 6, 8.
 */
export class ClusterGuard {
  readonly #connection: GuardConnection;
  readonly #options: ClusterGuardOptions;
  readonly #prober: Prober;
  readonly #installations = new Map<string, GuardedInstallation>();
  readonly #confirmations: Confirmations;
  readonly #state: GuardState;
  readonly #self: SelfQuestion;
  #work: Work = { kind: "unused" };
  #running: Promise<void> = Promise.resolve();

  constructor(connection: GuardConnection, options: ClusterGuardOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#prober = new Prober(connection.client, options.hubId);
    this.#self = new SelfQuestion(connection);
    this.#state = new GuardState(connection.signal, options.onChange);
    this.#confirmations = new Confirmations({
      ...connection,
      ...options,
      onWithdrawn: (key) => options.onWithdrawn(key, this.#componentsOf(key)),
    });
    connection.signal.addEventListener("abort", () => options.users.leave(this), { once: true });
    if (options.protection === "TwinOwner") this.#useSecondOwner("TwinOwner", "by configuration");
  }

  /** The protection of the anchors, as far as it is known. */
  get protection(): Protection {
    return this.#state.protection;
  }

  /** The guard installs or watches policies. */
  get isAtWork(): boolean {
    return this.#work.kind === "running";
  }

  /** Asks for the user of the controller on the cluster, which the policies need. Writes nothing. */
  prepare(): void {
    if (this.isAtWork || this.#options.protection === "TwinOwner") return;
    this.#self.askEarly();
  }

  /** Protects an installation from now on. The first one starts the guard. */
  protect(installation: GuardedInstallation): void {
    this.#installations.set(installation.component.metadata.uid, installation);
    if (this.isAtWork || this.#options.protection === "TwinOwner") return;
    const end = new Follower(this.#connection.signal);
    const before = this.#work.kind === "unused" ? "unread" : "read";
    this.#work = { kind: "running", end };
    this.#running = this.#running.then(() => this.#run(before, end.signal));
  }

  /** Has to be called with each anchor that was read: it may carry a confirmation. */
  noteAnchor(anchor: KubeObject): void {
    this.#confirmations.note(anchor, configMaps);
  }

  /** See GuardState. */
  waitUntilOpen(signal: AbortSignal): Promise<void> {
    return this.#state.waitUntilOpen(signal);
  }

  /** See GuardState. */
  waitUntilSent(signal: AbortSignal): Promise<void> {
    return this.#state.waitUntilSent(signal);
  }

  /** See GuardState. */
  needsSecondOwner(signal: AbortSignal): Promise<boolean> {
    return this.#state.needsSecondOwner(signal);
  }

  /**
   * Ends the protection of an installation that was removed. Removes the bindings and then the policies when no anchor of this hub is left on the
   * cluster, also none that this process does not know. Removed policies are not repaired.
   */
  async retire({ metadata }: Component, signal: AbortSignal): Promise<void> {
    this.#installations.delete(metadata.uid);
    const { client } = this.#connection;
    const { hubId, log } = this.#options;
    if (!this.isAtWork || this.#installations.size > 0) return;
    if ((await anchorsOf(client, { hubId }, signal)).length > 0 || this.#installations.size > 0)
      return;
    this.#stop("The guard is not needed any more");
    const removal = this.#running.then(() => removePolicies(client, hubId, signal));
    // An installation that comes meanwhile starts the guard after this removal.
    this.#running = removal.catch(() => undefined);
    await removal;
    log.info({}, "Removed the guard of anchors");
  }

  /**
   * Stops protecting an installation, and leaves the policies as they are. Without another installation nothing more is sent.
   */
  stopProtecting({ metadata }: Component): void {
    if (!this.#installations.delete(metadata.uid) || this.#installations.size > 0) return;
    this.#confirmations.forget();
    this.#stop("The guard is to leave the cluster alone");
  }

  #stop(why: string): void {
    // A second owner that the flag asks for needs no work, and stays decided.
    if (this.#work.kind !== "running") return;
    this.#work.end.abort(new DOMException(why, "AbortError"));
    this.#options.users.leave(this);
    this.#work = { kind: "idle" };
    this.#state.reset();
  }

  async #run(before: Before, signal: AbortSignal): Promise<void> {
    let next = before;
    let refusals = 0;
    for (let failures = 1; !isAborted(signal); failures += 1) {
      // Without installations the policies stay in force, but they are not repaired.
      if (this.#installations.size === 0) this.#stop("The guard protects nothing any more");
      if (isAborted(signal)) return;
      try {
        const now = next;
        if (next === "unread") next = "read";
        using establishment = await this.#establish(now, signal);
        next = "proven";
        failures = 1;
        refusals = 0;
        let last: Recheck = "held";
        while (last !== "lost") last = await this.#recheckLater(establishment, last, signal);
      } catch (error) {
        if (isAborted(signal)) return;
        refusals = isRefusal(error) ? refusals + 1 : 0;
        const isDoubted = next === "proven" && refusals > 0 && refusals <= doubtedRefusals;
        const pauseMs = isDoubted
          ? backoffMs(failureBackoff, refusals)
          : this.#reportFailure(error, failures);
        await delay(this.#options.clock, pauseMs, signal).catch(() => undefined);
      }
    }
  }

  /** Installs and proves the policies, and watches them from then on. */
  async #establish(before: Before, signal: AbortSignal): Promise<Establishment> {
    const { client, fieldManager } = this.#connection;
    const { hubId, crds, clock, log, users } = this.#options;
    const isFresh = before === "unread" && this.#newestInstallation()?.isNew === true;
    const self = this.#self.ask(signal);
    const disturbed = new Follower(signal);
    const onDisturbed = (): void => disturbed.abort(new DOMException("Disturbed", "AbortError"));
    let watch: PolicyWatch | undefined;
    let doubt = new AbortController();
    const onInterrupted = (): void => doubt.abort(new DOMException("Interrupted", "AbortError"));
    const doubts = {
      doubted: (): AbortSignal => doubt.signal,
      beginRecheck: (): void => void (doubt = new AbortController()),
    };
    const watchOver = (settled: readonly KubeObject[]): void => {
      const hooks = { onDisturbed, onInterrupted };
      watch ??= new PolicyWatch({ client, clock, hubId, log, ...hooks }, settled);
    };
    const dispose = (): void => {
      watch?.[Symbol.dispose]();
      disturbed[Symbol.dispose]();
    };
    try {
      const { sharing, settled } = await establish(
        { client, fieldManager, hubId, crds, self, isFresh, clock, prober: this.#prober },
        {
          namespace: () => this.#newestInstallation()?.anchor.namespace,
          onUser: (policy, user) => {
            // A late answer must not bring back the user of a guard that has ended.
            signal.throwIfAborted();
            return users.join(policy, this, user);
          },
          onSent: () => this.#state.noteSent(),
          onSettled: (objects) => {
            // The probes notice when new policies go during their proof. The watches start after it, which saves two requests before it.
            if (!isFresh) watchOver(objects.map(({ object }) => object));
            this.#openWith(objects, before === "proven");
          },
        },
        signal,
      );
      watchOver(settled);
      const proven = enforcedProtection(sharing);
      this.#state.open(proven);
      return { disturbed: disturbed.signal, ...doubts, proven, [Symbol.dispose]: dispose };
    } catch (error) {
      dispose();
      throw error;
    }
  }

  /** Lets anchors be created. Reports a repair of policies that were proven: the anchors were not protected until it. */
  #openWith(policies: readonly SettledObject[], wereProven: boolean): void {
    const found = new Set(policies.map(({ before }) => before));
    if (wereProven && found.has("missing")) {
      const message = "The policy or its binding was deleted; it is there again and being proven";
      this.#state.open({ reason: "BindingMissing", message });
    } else if (wereProven && found.has("different")) {
      const message = "The policy or its binding was changed; it is put right and being proven";
      this.#state.open({ reason: "Probing", message });
    } else {
      this.#state.open();
    }
  }

  /** Waits for the next recheck, and makes it. */
  async #recheckLater(
    established: Establishment,
    last: Recheck,
    signal: AbortSignal,
  ): Promise<Recheck> {
    const { log, hubId } = this.#options;
    try {
      await this.#waitForRecheck(established, last);
      established.beginRecheck();
    } catch {
      signal.throwIfAborted();
      // A policy changed. No anchor may be created before the repair.
      this.#state.reinstall();
      return "lost";
    }
    const { client } = this.#connection;
    const anchors = [...this.#installations.values()].map(({ anchor }) => anchor);
    const onNamespace = (one: KubeObject): void => this.#confirmations.note(one, namespaces);
    const work = { client, prober: this.#prober, hubId, anchors, onNamespace };
    const shown = await recheck(work, signal);
    if (shown === "guarded") this.#state.open(established.proven);
    if (shown === "unproven") this.#state.open(unproven);
    if (shown !== "unguarded") return shown === "unanswered" ? "unanswered" : "held";
    log.warn({}, "The API server would have let the anchor be deleted");
    const message = "The API server would have let the anchor be deleted; the guard is proven anew";
    this.#state.reinstall({ reason: "NotEnforced", message });
    return "lost";
  }

  /** Rejects when a policy changed. */
  async #waitForRecheck({ disturbed, doubted }: Establishment, last: Recheck): Promise<void> {
    const { clock, recheckMs = usualRecheckMs } = this.#options;
    // Both remove their listeners from the signal, which lives for weeks.
    using early = new Follower(disturbed, doubted());
    if (last !== "unanswered") {
      await pause(clock, recheckMs * (0.9 + 0.2 * clock.random()), early.signal);
      if (!early.signal.aborted) return;
    }
    await delay(clock, Math.min(doubtMs, recheckMs), disturbed);
  }

  /** Reports a failure. Returns how long to wait until the next try, in ms. */
  #reportFailure(error: unknown, failures: number): number {
    const { log } = this.#options;
    if (error instanceof Unproven) {
      const { reason, message } = error;
      if (reason === "NotSupported") {
        this.#useSecondOwner(reason, message);
        return refusedRetryMs;
      }
      this.#state.open({ reason, message });
      return unprovenRetryMs;
    }
    if (isRefusal(error)) {
      this.#useSecondOwner("PolicyForbidden", "the controller may not install policies there");
      return refusedRetryMs;
    }
    const message = "The guard could not be installed";
    logFailure(log, "debug", { err: error }, message);
    this.#state.close({ reason: "NotEnforced", message }, error);
    return backoffMs(failureBackoff, failures);
  }

  /** Without policies, a second owner protects the objects where the flag allows that. */
  #useSecondOwner(reason: "PolicyForbidden" | "NotSupported" | "TwinOwner", why: string): void {
    const isAllowed = this.#options.protection !== "Policy";
    const instead = isAllowed
      ? "a second owner keeps the objects when the anchor is deleted"
      : "and --anchor-protection=Policy asks for them";
    const message = `No policies, ${why}: ${instead}`;
    if (isAllowed) this.#state.openWithSecondOwner({ reason, message });
    else this.#state.closeWithoutSecondOwner({ reason, message });
  }

  /** The components whose anchor this object is, or holds. */
  #componentsOf({ kind, name, namespace }: ObjectKey): readonly Component[] {
    const anchorNamespace = kind === "Namespace" ? name : namespace;
    return [...this.#installations.values()]
      .filter(({ anchor }) => anchor.namespace === anchorNamespace)
      .filter(({ anchor }) => kind === "Namespace" || anchor.name === name)
      .map(({ component }) => component);
  }

  /** Its namespace most likely exists, or is about to. */
  #newestInstallation(): GuardedInstallation | undefined {
    return [...this.#installations.values()].at(-1);
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}
