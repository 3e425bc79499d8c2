import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Code } from "../../api/reasons.ts";
import { AnswerBudget } from "../answer-limits.ts";
import type { Times } from "../http/connector.ts";
import { cannotWork, probeRequest } from "../http/liveness.ts";
import { withPace } from "../http/paced-requester.ts";
import { RequestCounters } from "../http/request-counters.ts";
import type { TransportAnswer } from "../http/request.ts";
import { AuthorizedRequester } from "../http/requester.ts";
import { concealedSentence, ConnectionError, type ConnectionFailure } from "../kube/api-error.ts";
import { createKubeClient } from "../kube/create-kube-client.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { RenewingCredentials } from "../plugins/credential-source.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import { TurnWaits } from "../time/deadline.ts";
import { AttemptSteps } from "./attempt-steps.ts";
import { Gate } from "./gate.ts";
import { resolveAccess, type ResolvedAccess } from "./resolved-access.ts";
import { addressGuardOf, credentialObtainer, type SpokeDeps, spokeName } from "./spoke-deps.ts";
import type { SpokeConnection } from "./spokes.ts";

const probeTimeoutMs = 10_000;
// Time of a question in addition to the answer of the server, for example for a credential.
const questionSlackMs = 1_000;
// Pause after a rejected credential, as for plugins. Callers get the error at once in this time.
const rejectedPauseMs = 5_000;
const codes: Partial<Record<ConnectionFailure, Code>> = {
  untrusted: "TLSUntrusted",
  notAllowed: "EndpointInvalid",
  tooLarge: "TooLarge",
};

/**
 * Connects to the cluster of a profile once: resolve, plugin, `GET /version`. For short-lived programs.
 *
 * Throws `FleetError` with a reason of `TargetClusterResolved`, or the reason of the signal.
 */
export async function connectSpoke(
  { profile, providers }: { readonly profile: ClusterProfile; readonly providers?: ProviderFile },
  deps: SpokeDeps,
  signal: AbortSignal,
): Promise<SpokeConnection & AsyncDisposable> {
  const { clock } = deps;
  const startMs = clock.now();
  const link = new SpokeLink(resolveAccess(profile, providers, clock.date().getTime()), deps, {});
  try {
    await link.connect(signal, { startMs, endMs: clock.now() });
    return link;
  } catch (error) {
    await link[Symbol.asyncDispose]();
    throw error;
  }
}

/** Whether the status of an answer to `GET /version` shows that the server is reachable. */
function isReachable(status: number): boolean {
  // 403: the server knows the user; later requests show the missing rights. 429: the server is busy.
  return status === 200 || status === 403 || status === 429;
}

interface LinkHandlers {
  /** The connection broke, the credential was rejected, or a load balancer without a server answered a watch. */
  readonly onTrouble?: () => void;
  /** The spoke has more objects than may be kept. Called from inside a watch, at most once. */
  readonly onExcess?: (error: FleetError) => void;
}

/** One connection to a spoke, for one fingerprint. */
export class SpokeLink implements SpokeConnection, AsyncDisposable {
  readonly client: KubeClient;
  readonly profile: ResolvedAccess["profile"];
  readonly provider: string;
  readonly fingerprint: string;
  readonly #abort = new AbortController();
  readonly #credentials: RenewingCredentials;
  readonly #requester: AuthorizedRequester;
  readonly #gate: Gate;
  readonly #steps: AttemptSteps;
  readonly #waits: TurnWaits;
  readonly #home: Disposable | undefined;
  readonly #conceals: boolean;

  /** Opens no connection yet. */
  constructor(access: ResolvedAccess, deps: SpokeDeps, handlers: LinkHandlers) {
    const { onTrouble = () => undefined, onExcess } = handlers;
    this.profile = access.profile;
    this.provider = access.provider;
    this.fingerprint = access.fingerprint;
    const steps = new AttemptSteps(access, deps);
    this.#steps = steps;
    this.#waits = new TurnWaits(deps.clock, deps.waits);
    this.#home = deps.homes?.hold(access.plan);
    this.#credentials = new RenewingCredentials({
      obtain: credentialObtainer(access, { ...deps, waits: this.#waits }, steps),
      clock: deps.clock,
      random: () => deps.clock.random(),
      rejectedPauseMs,
      onDropped: (credential) => deps.path?.dropCredential(spokeName(access), credential),
    });
    this.#conceals = deps.conceals === true && access.allowedServers.length === 0;
    const { mayWrite } = deps;
    const answers = (deps.answers ?? new AnswerBudget()).cluster();
    this.#requester = new AuthorizedRequester({
      clock: deps.clock,
      answers,
      endpoint: access.endpoint,
      userAgent: deps.userAgent,
      counters: deps.counters ?? new RequestCounters(deps.clock),
      credentials: this.#credentials,
      onTrouble,
      onConnect: (times) => steps.reportConnection(times),
      guard: addressGuardOf(access, deps),
      conceals: this.#conceals,
      openTransport: deps.openTransport,
      ...(deps.silence === undefined ? {} : { silence: deps.silence }),
      ...(mayWrite === undefined ? {} : { mayWrite: () => mayWrite(access.profile) }),
      ...(deps.onRequest === undefined ? {} : { onRequest: deps.onRequest }),
    });
    const { pace } = deps;
    const sender =
      pace === undefined ? this.#requester : withPace(this.#requester, deps.clock, pace);
    this.#gate = new Gate(sender, deps.clock, onTrouble);
    const client = createKubeClient(this.#gate, answers);
    const keep = deps.kept?.cluster((error) => onExcess?.(this.#excessOf(error)));
    this.client = keep === undefined ? client : { ...client, keep };
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Makes the first attempt of this connection: plugin, connection, first answer. Throws as `probe` does. */
  connect(signal: AbortSignal, resolved?: Times): Promise<void> {
    return this.#steps.measureAttempt(() => this.probe(signal), resolved);
  }

  /** Asks the server for its version. Does not repeat the request for a busy server, which is reachable. Throws `FleetError`. */
  async probe(signal: AbortSignal): Promise<void> {
    const request = questionOf("/version", probeTimeoutMs);
    try {
      const { status } = await this.#steps.measureRequest(() =>
        this.#requester.send(request, signal),
      );
      if (!isReachable(status)) throw this.#unreachable(status, request.path);
    } catch (error) {
      signal.throwIfAborted();
      throw this.#fleetErrorFor(error);
    }
  }

  /** Checks that the server is reachable, also while the connection is blocked. Throws `FleetError` within `timeoutMs` and a second. */
  async checkReachable(signal: AbortSignal, timeoutMs: number): Promise<void> {
    try {
      const { status } = await this.#sendQuestion("/version", signal, timeoutMs);
      if (!isReachable(status)) throw this.#unreachable(status, "/version");
    } catch (error) {
      signal.throwIfAborted();
      throw this.#fleetErrorFor(error);
    }
  }

  /** Checks that the server works, including its storage. Throws as `checkReachable` does. */
  async checkWorking(signal: AbortSignal, timeoutMs: number): Promise<void> {
    try {
      const answer = await this.#sendQuestion("/readyz", signal, timeoutMs);
      if (cannotWork(answer)) throw this.#unreachable(answer.status, "/readyz");
    } catch (error) {
      signal.throwIfAborted();
      // For example a redirect to a login, by a gateway that knows only the paths of resources.
      if (error instanceof ConnectionError && error.failure === "other") {
        return this.checkReachable(signal, timeoutMs);
      }
      throw this.#fleetErrorFor(error);
    }
  }

  /** Count of answers and events of the server, without those to `probe`, `checkReachable` and `checkWorking`. */
  get heard(): number {
    return this.#gate.heard;
  }

  /** A watch runs, or a request has no answer yet. */
  get isAwaited(): boolean {
    return this.#gate.isAwaited;
  }

  /** Ends the watches without bytes since then (by the monotonic clock). They are opened again when the connection is not blocked. */
  cut(error: FleetError, since: number): void {
    this.#gate.cut(error, since);
  }

  /** Lets running and later requests fail with this error, and lets watches wait. */
  block(error: FleetError): void {
    this.#gate.block(error);
  }

  unblock(): void {
    this.#gate.open();
  }

  /** Closes the connection. Its users get this error. */
  async close(error: FleetError): Promise<void> {
    this.#gate.close(error);
    this.#abort.abort(error);
    this.#credentials[Symbol.dispose]();
    this.#home?.[Symbol.dispose]();
    await this.#requester[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close(new FleetError("ClusterProviderClosed", `${this.#name()} was closed`));
  }

  /** Sends a question. One limit covers answer and credential, because a plugin may take 30 s. */
  async #sendQuestion(
    path: "/readyz" | "/version",
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<TransportAnswer> {
    const ms = timeoutMs + questionSlackMs;
    const what = `GET ${path} had no answer within ${ms / 1_000} s, the time for its credential included`;
    const reason = this.#unanswered(what);
    using limit = this.#waits.limit(signal, { ms, reason });
    const request = questionOf(path, timeoutMs);
    return await this.#requester.send(request, limit.signal);
  }

  #name(): string {
    return `The connection of ${this.#profileName()}`;
  }

  #profileName(): string {
    return describe({ kind: "ClusterProfile", ...this.profile });
  }

  #unreachable(status: number, path: string): FleetError {
    return this.#unanswered(`${this.#requester.server} answered ${status} to GET ${path}`);
  }

  /** The error for a server that does not answer as it should. */
  #unanswered(what: string): FleetError {
    const text = this.#conceals ? `${this.#requester.server} ${concealedSentence}` : what;
    return new FleetError("RemoteClientCreationFailed", `${this.#profileName()}: ${text}`, {
      code: "Unreachable",
      ...(this.#conceals ? { cause: new Error(what) } : {}),
    });
  }

  #excessOf(cause: ConnectionError): FleetError {
    const message = `${this.#profileName()}: ${cause.message}`;
    return new FleetError("RemoteClientCreationFailed", message, { code: "TooLarge", cause });
  }

  #fleetErrorFor(error: unknown): unknown {
    if (!(error instanceof ConnectionError)) return error;
    const code = codes[error.told] ?? "Unreachable";
    const message = `${this.#profileName()}: ${error.message}`;
    return new FleetError("RemoteClientCreationFailed", message, { code, cause: error });
  }
}

/** It is sent at once, even when the window is full, and once. */
function questionOf(path: "/readyz" | "/version", timeoutMs: number) {
  return { ...probeRequest(path, timeoutMs), idempotent: false, isQuestion: true } as const;
}

// After ten seconds in two questions, in either order, a server counts as lost.
const shortMs = 3_000;
const longMs = 7_000;
// As long as any request may take: a server that takes five seconds for each answer (C10) is slow, not lost.
const patientMs = 10_000;

/**
 * Limit of a question to a server, in ms. After trouble the first question is short and the second is long, after silence the other way round. Later
 * questions may take as long as any request.
 */
export function checkTimeMs(isQuiet: boolean, failures: number): number {
  if (failures > 1) return patientMs;
  return isQuiet === (failures === 0) ? longMs : shortMs;
}
