import { FleetError } from "../../api/errors.ts";
import { nameId } from "../../api/keys.ts";
import { defaultQuiet, whenQuiet } from "../http/liveness.ts";
import { newSpokePace } from "../http/paced-requester.ts";
import { PluginLimits } from "../plugins/plugin-limits.ts";
import { backoffMs } from "../time/backoff.ts";
import { pause } from "../time/clock.ts";
import { abortable, isAborted, TurnWaits, withTimeout } from "../time/deadline.ts";
import { ConnectTurns } from "./connect-turns.ts";
import { ExcessPause } from "./excess-pause.ts";
import type { AccessOutcome } from "./resolved-access.ts";
import { checkTimeMs, SpokeLink } from "./spoke-connection.ts";
import type { SpokeDeps } from "./spoke-deps.ts";
import type { SpokeConnection, SpokeState } from "./spokes.ts";

type ResolvedOutcome = Extract<AccessOutcome, { kind: "access" }>;

const acquireTimeoutMs = 12_000;
// Includes the wait for a turn, because the caller has other components to reconcile.
const longestAcquireMs = 30_000;
const graceMs = 180_000;
// A profile that flaps must not start a plugin each time.
const attemptIntervalMs = 1_000;
const checkBackoff = { firstMs: 1_000, longestMs: 10_000, jitter: 1 / 4 };
const connectBackoff = { ...checkBackoff, longestMs: 60_000 };
// Each failed attempt of a plugin is a process, and may be a login at a cloud. Security: T-22.
const pluginBackoff = { ...checkBackoff, longestMs: 300_000 };

/**
 * Connects to one spoke and keeps the connection. Replaces the connection when the access changes, notices a silent spoke, and retries until it is
 * closed. Callers only call `acquire`.
 */
export class SpokeKeeper {
  readonly #deps: SpokeDeps;
  readonly #onChange: () => void;
  readonly #turns: ConnectTurns;
  readonly #waits: TurnWaits;
  #outcome: AccessOutcome;
  #state: SpokeState = { kind: "connecting" };
  #settled = Promise.withResolvers<void>();
  #link: SpokeLink | undefined;
  /** Why the link does not work at the moment. */
  #down: FleetError | undefined;
  /** The link whose check is running. The check of a replaced link does not delay that of the new one. */
  #checking: SpokeLink | undefined;
  #attempt: AbortController | undefined;
  #attemptError: FleetError | undefined;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  readonly #excess = new ExcessPause();
  #grace: Disposable | undefined;
  #closed = false;

  /** `onChange` is called after every change of the state. */
  constructor(outcome: AccessOutcome, deps: SpokeDeps, onChange: () => void) {
    const { clock } = deps;
    this.#outcome = outcome;
    this.#waits = new TurnWaits(clock);
    // All attempts share one object of limits.
    const limits = { plugins: deps.plugins ?? new PluginLimits(clock), pace: newSpokePace() };
    this.#deps = { ...deps, ...limits, waits: this.#waits };
    this.#turns = deps.turns ?? new ConnectTurns(clock);
    this.#onChange = onChange;
    this.#applyOutcome();
  }

  get state(): SpokeState {
    return this.#state;
  }

  /** Uses a new result of profile and provider file. */
  update(outcome: AccessOutcome): void {
    if (this.#closed) return;
    this.#outcome = outcome;
    this.#applyOutcome();
  }

  /**
   * Returns the connection, and waits for a first attempt that is running. Throws the error of the state without a connection. Throws
   * `RemoteClusterStale` while the attempt waits for its turn, which is no failure of the spoke.
   */
  async acquire(signal: AbortSignal): Promise<SpokeConnection> {
    if (this.#state.kind === "connecting") await this.#waitForFirstAttempt(signal);
    const state = this.#state;
    if (state.kind === "connected") return state.connection;
    if (state.kind !== "connecting") throw state.error;
    throw stale("waits for its turn");
  }

  /** Waits for the end of the first attempt. Throws when its work takes too long. */
  async #waitForFirstAttempt(signal: AbortSignal): Promise<void> {
    const text = "The first attempt to connect goes on";
    const reason = new FleetError("RemoteClientCreationFailed", text, { code: "Unreachable" });
    using patience = this.#waits.limit(signal, { ms: acquireTimeoutMs, reason });
    const late = withTimeout(this.#deps.clock, longestAcquireMs, patience.signal);
    await abortable(this.#settled.promise, late).catch(() => undefined);
    signal.throwIfAborted();
    if (this.#state.kind === "connecting") patience.signal.throwIfAborted();
  }

  /** Closes the connection for ever. Its users get the error. */
  async close(error: FleetError): Promise<void> {
    this.#closed = true;
    this.#endGrace();
    this.#attempt?.abort();
    const link = this.#link;
    this.#link = undefined;
    this.#state = { kind: "failed", error };
    this.#settled.resolve();
    await link?.close(error);
  }

  #applyOutcome(): void {
    this.#excess.end();
    if (this.#isLinkCurrent()) this.#endGrace();
    this.#attempt?.abort();
    this.#attempt = undefined;
    this.#attemptError = undefined;
    const outcome = this.#outcome;
    if (outcome.kind === "error") {
      if (outcome.error.reason === "ReferenceNotPermitted") this.#drop("is not permitted any more");
      this.#limitOldLink();
    } else {
      const { access } = outcome;
      if (this.#link !== undefined && this.#link.profile.uid !== access.profile.uid) {
        this.#drop("belongs to a ClusterProfile that was deleted and created again");
      }
      if (!this.#isLinkCurrent()) {
        this.#connect(outcome);
        this.#limitOldLink();
      }
    }
    this.#refresh();
  }

  /**
   * A link that still works is kept for a while where the profile leads nowhere, or to a cluster that does not answer. The time begins with the first change that leads away from the
   * cluster, so that a profile that keeps changing does not keep it for ever.
   */
  #limitOldLink(): void {
    if (this.#link === undefined) return;
    const giveUp = (): void => this.#drop("was given up");
    this.#grace ??= this.#deps.clock.after(graceMs, giveUp, "background");
  }

  #endGrace(): void {
    this.#grace?.[Symbol.dispose]();
    this.#grace = undefined;
  }

  #isLinkCurrent(): boolean {
    const outcome = this.#outcome;
    return outcome.kind === "access" && this.#link?.fingerprint === outcome.access.fingerprint;
  }

  #connect(outcome: ResolvedOutcome): void {
    const attempt = new AbortController();
    this.#attempt = attempt;
    // Ends when the attempt is aborted. Its failures become states.
    void this.#connectUntil(outcome, attempt.signal);
  }

  async #connectUntil({ access, resolved }: ResolvedOutcome, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const mayBeginAt = Math.max(this.#attemptedAt + attemptIntervalMs, this.#excess.endsAt);
    await pause(clock, mayBeginAt - clock.now(), signal);
    for (let failures = 1; !signal.aborted; failures += 1) {
      const isFirst = failures === 1;
      const link: SpokeLink = new SpokeLink(access, this.#deps, {
        onTrouble: () => this.#check(link),
        onExcess: (error) => this.#exceed(link, error),
      });
      using waiting = this.#waits.begin();
      const connect = (): Promise<void> => {
        waiting[Symbol.dispose]();
        this.#attemptedAt = clock.now();
        return link.connect(signal, isFirst ? resolved : undefined);
      };
      try {
        await this.#turns.take(connect, !isFirst, signal);
        signal.throwIfAborted();
        this.#adopt(link);
        return;
      } catch (error) {
        await link[Symbol.asyncDispose]();
        if (isAborted(signal)) return;
        this.#attemptError = this.#failureOf(link, error);
        this.#refresh();
      }
      const isOfPlugin = this.#attemptError.code?.startsWith("Plugin") === true;
      const backoff = isOfPlugin ? pluginBackoff : connectBackoff;
      await pause(clock, backoffMs(backoff, failures, clock.random()), signal);
    }
  }

  #adopt(link: SpokeLink): void {
    const old = this.#link;
    this.#endGrace();
    this.#attempt = undefined;
    this.#attemptError = undefined;
    this.#down = undefined;
    this.#link = link;
    this.#refresh();
    const onQuiet = (): void => {
      if (link.isAwaited) this.#check(link, true);
    };
    const { clock, quiet = defaultQuiet } = this.#deps;
    whenQuiet({ clock, count: () => link.heard, onQuiet }, quiet, link.signal);
    // Closed after the new link is in place, so that there is no gap. Not awaited.
    void old?.close(stale("was replaced by a new one"));
  }

  #drop(why: string): void {
    const link = this.#link;
    this.#link = undefined;
    this.#down = undefined;
    this.#endGrace();
    this.#refresh();
    void link?.close(stale(why));
  }

  /** Closes a link whose spoke has more than may be kept, and connects again after a pause that grows. */
  #exceed(link: SpokeLink, error: FleetError): void {
    if (this.#closed || link !== this.#link) return;
    this.#excess.begin(this.#deps.clock);
    this.#link = undefined;
    this.#down = undefined;
    if (this.#attempt === undefined && this.#outcome.kind === "access") {
      this.#attemptError = error;
      this.#connect(this.#outcome);
    }
    this.#refresh();
    void link.close(error);
  }

  /** Checks the server until it answers, after trouble or silence of the link. */
  #check(link: SpokeLink, isQuiet: boolean = false): void {
    if (this.#closed || link !== this.#link || link === this.#checking) return;
    this.#checking = link;
    // Ends with the link. Its failures become states.
    void this.#checkUntilUp(link, isQuiet).finally(() => {
      if (this.#checking === link) this.#checking = undefined;
    });
  }

  async #checkUntilUp(link: SpokeLink, isQuiet: boolean): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = link;
    // After silence all watches are cut.
    let since = isQuiet ? Infinity : clock.now();
    for (let failures = 0; !signal.aborted;) {
      try {
        const timeMs = checkTimeMs(isQuiet, failures);
        if (isQuiet) await link.checkWorking(signal, timeMs);
        else await link.checkReachable(signal, timeMs);
        if (link !== this.#link) return;
        this.#down = undefined;
        link.unblock();
        this.#refresh();
        return;
      } catch (error) {
        if (isAborted(signal)) return;
        failures += 1;
        // One failure may be a restart of the server. After two the server counts as lost.
        if (failures > 1) {
          const failure = this.#failureOf(link, error);
          this.#lose(link, failure);
          // The events of silent watches may never come. A long list that still arrives goes on.
          link.cut(failure, since);
          since = clock.now();
        }
      }
      await pause(clock, backoffMs(checkBackoff, failures, clock.random()), signal);
    }
  }

  /** Why a link does not work. Everything that is no FleetError is a bug, which must not look like a server that does not answer. */
  #failureOf({ profile }: SpokeLink, error: unknown): FleetError {
    if (error instanceof FleetError) return error;
    this.#deps.onBug?.(nameId(profile), error);
    const message = "Internal error, see the log of the controller";
    return new FleetError("RemoteClientCreationFailed", message, { cause: error });
  }

  #lose(link: SpokeLink, error: FleetError): void {
    if (link !== this.#link) return;
    this.#down = error;
    link.block(error);
    this.#refresh();
  }

  #refresh(): void {
    const before = this.#state;
    const next = this.#stateNow();
    this.#state = next;
    if (next.kind !== "connecting") this.#settled.resolve();
    else if (before.kind !== "connecting") this.#settled = Promise.withResolvers();
    if (!sameState(before, next)) this.#onChange();
  }

  #stateNow(): SpokeState {
    if (this.#outcome.kind === "error") return { kind: "failed", error: this.#outcome.error };
    if (this.#attemptError !== undefined) return { kind: "failed", error: this.#attemptError };
    const connection = this.#link;
    if (connection === undefined) return { kind: "connecting" };
    return this.#down === undefined
      ? { kind: "connected", connection }
      : { kind: "lost", connection, error: this.#down };
  }
}

function sameState(a: SpokeState, b: SpokeState): boolean {
  if (a.kind !== b.kind) return false;
  const connections = [a, b].map((state) => ("connection" in state ? state.connection : undefined));
  const errors = [a, b].map((state) =>
    "error" in state ? `${state.error.reason} ${state.error.message}` : "",
  );
  return connections[0] === connections[1] && errors[0] === errors[1];
}

function stale(why: string): FleetError {
  return new FleetError("RemoteClusterStale", `The connection to the cluster ${why}`);
}
