import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Code } from "../../api/reasons.ts";
import { AnswerBudget } from "../answer-limits.ts";
import { TurnWaits } from "../deadline.ts";
import type { Times } from "../http/connector.ts";
import { RequestCounters } from "../http/request-counters.ts";
import type { TransportAnswer } from "../http/request.ts";
import { AuthorizedRequester } from "../http/requester.ts";
import { ConnectionError, type ConnectionFailure } from "../kube/api-error.ts";
import { createKubeClient } from "../kube/create-kube-client.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { RenewingCredentials } from "../plugins/credential-source.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import { AttemptSteps } from "./attempt-steps.ts";
import { Gate } from "./gate.ts";
import { resolveAccess, type ResolvedAccess } from "./resolved-access.ts";
import { guardOf, obtaining, type SpokeDeps, spokeOf } from "./spoke-deps.ts";
import type { SpokeConnection } from "./spokes.ts";

const probeTimeoutMs = 10_000;
// What a question may take besides the server's answer, such as the time for a credential.
const questionSlackMs = 1_000;
// The pace of plugins: callers get the error at once meanwhile and do not wait.
const rejectedPauseMs = 5_000;
const question = {
  method: "GET",
  verb: "probe",
  headers: { accept: "application/json, */*" },
  idempotent: false,
  answer: "status",
  isQuestion: true,
} as const;
const codes: Partial<Record<ConnectionFailure, Code>> = {
  untrusted: "TLSUntrusted",
  notAllowed: "EndpointInvalid",
};

/**
 * Connects to the cluster of a profile once: resolve, plugin, `GET /version`. For programs that do not stay.
 *
 * Throws `FleetError` with a reason of `TargetClusterResolved`, or the reason of the signal.
 */
export async function connectSpoke(
  { profile, providers }: { readonly profile: ClusterProfile; readonly providers?: ProviderFile },
  deps: SpokeDeps,
  signal: AbortSignal,
): Promise<SpokeConnection & AsyncDisposable> {
  const startMs = performance.now();
  const link = new SpokeLink(resolveAccess(profile, providers), deps, () => undefined);
  try {
    await link.connect(signal, { startMs, endMs: performance.now() });
    return link;
  } catch (error) {
    await link[Symbol.asyncDispose]();
    throw error;
  }
}

/** Whether a status says that the server is there, to who asks for its version. */
function isThere(status: number): boolean {
  // 403: the server knows the user; missing rights show where they are needed. 429: the server is there, but busy.
  return status === 200 || status === 403 || status === 429;
}

/** One connection to a spoke, made for one fingerprint. */
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

  /** Opens nothing yet. `onTrouble` is called when the connection broke, the credential was rejected, or a watch was answered as if there was no server. */
  constructor(access: ResolvedAccess, deps: SpokeDeps, onTrouble: () => void) {
    this.profile = access.profile;
    this.provider = access.provider;
    this.fingerprint = access.fingerprint;
    const steps = new AttemptSteps(access, deps.onStep);
    this.#steps = steps;
    this.#waits = new TurnWaits(deps.waits);
    this.#credentials = new RenewingCredentials({
      obtain: obtaining(access, { ...deps, waits: this.#waits }, steps),
      now: Date.now,
      elapsed: () => performance.now(),
      random: Math.random,
      rejectedPauseMs,
      onDropped: (credential) => deps.path?.credentialDropped(spokeOf(access), credential),
    });
    const answers = (deps.answers ?? new AnswerBudget()).cluster();
    this.#requester = new AuthorizedRequester({
      answers,
      endpoint: access.endpoint,
      userAgent: deps.userAgent,
      counters: deps.counters ?? new RequestCounters(),
      credentials: this.#credentials,
      onTrouble,
      onConnect: (times) => steps.connected(times),
      guard: guardOf(access, deps),
      ...(deps.silence === undefined ? {} : { silence: deps.silence }),
      ...(deps.mayWrite === undefined ? {} : { mayWrite: deps.mayWrite }),
      ...(deps.onRequest === undefined ? {} : { onRequest: deps.onRequest }),
    });
    this.#gate = new Gate(this.#requester, onTrouble);
    this.client = createKubeClient(this.#gate, answers);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The first attempt of this connection: plugin, connection, first answer. Throws as `probe` does. */
  connect(signal: AbortSignal, resolved?: Times): Promise<void> {
    return this.#steps.attempt(() => this.probe(signal), resolved);
  }

  /** Asks the server for its version, and not again when it has no time for that: then it is there. Throws `FleetError`. */
  async probe(signal: AbortSignal): Promise<void> {
    const request = { ...question, path: "/version", timeoutMs: probeTimeoutMs };
    try {
      const { status } = await this.#steps.request(() => this.#requester.send(request, signal));
      if (!isThere(status)) throw this.#unreachable(status, request.path);
    } catch (error) {
      signal.throwIfAborted();
      throw this.#explained(error);
    }
  }

  /** Asks the server whether it is there, also while the connection is blocked. Throws `FleetError`, within this time and a second. */
  async call(signal: AbortSignal, timeoutMs: number): Promise<void> {
    try {
      const { status } = await this.#asked("/version", signal, timeoutMs);
      if (!isThere(status)) throw this.#unreachable(status, "/version");
    } catch (error) {
      signal.throwIfAborted();
      throw this.#explained(error);
    }
  }

  /** Asks the server whether it works, which takes more than to be there, in the same way. */
  async ask(signal: AbortSignal, timeoutMs: number): Promise<void> {
    try {
      const answer = await this.#asked("/readyz", signal, timeoutMs);
      if (cannotWork(answer)) throw this.#unreachable(answer.status, "/readyz");
    } catch (error) {
      signal.throwIfAborted();
      // Such as a redirect to a login, by a gateway that knows only the paths of resources.
      if (error instanceof ConnectionError && error.failure === "other") {
        return this.call(signal, timeoutMs);
      }
      throw this.#explained(error);
    }
  }

  /** Grows with everything that the server says, questions of `probe`, `call` and `ask` apart. */
  get heard(): number {
    return this.#gate.heard;
  }

  /** A watch runs, or a request has no answer yet. */
  get isAwaited(): boolean {
    return this.#gate.isAwaited;
  }

  /** Ends the watches that have said nothing since then (`performance.now()`), to be opened again when the connection is not blocked. */
  cut(error: FleetError, since: number): void {
    this.#gate.cut(error, since);
  }

  /** Requests fail at once with this error, those in flight as well; watches wait. */
  block(error: FleetError): void {
    this.#gate.block(error);
  }

  unblock(): void {
    this.#gate.open();
  }

  /** Ends the connection; its users get this error. */
  async close(error: FleetError): Promise<void> {
    this.#gate.close(error);
    this.#abort.abort(error);
    this.#credentials[Symbol.dispose]();
    await this.#requester[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close(new FleetError("ClusterProviderClosed", `${this.#name()} was closed`));
  }

  /** An answer in time, which is bounded as a whole: a plugin may take 30 s. */
  async #asked(path: string, signal: AbortSignal, timeoutMs: number): Promise<TransportAnswer> {
    const ms = timeoutMs + questionSlackMs;
    const text = `${this.#profileName()}: GET ${path} had no answer within ${ms / 1_000} s, the time for its credential included`;
    const reason = new FleetError("RemoteClientCreationFailed", text, { code: "Unreachable" });
    using limit = this.#waits.limit(signal, { ms, reason });
    const request = { ...question, path, timeoutMs };
    return await this.#requester.send(request, limit.signal);
  }

  #name(): string {
    return `The connection of ${this.#profileName()}`;
  }

  #profileName(): string {
    return describe({ kind: "ClusterProfile", ...this.profile });
  }

  #unreachable(status: number, path: string): FleetError {
    return new FleetError(
      "RemoteClientCreationFailed",
      `${this.#profileName()}: ${this.#requester.server} answered ${status} to GET ${path}`,
      { code: "Unreachable" },
    );
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof ConnectionError)) return error;
    const code = codes[error.failure] ?? "Unreachable";
    const message = `${this.#profileName()}: ${error.message}`;
    return new FleetError("RemoteClientCreationFailed", message, { code, cause: error });
  }
}

// An API server lists its checks, one a line. All that is asked of it goes through its storage.
const list = /^\[[+-]\]\S/;
const storageFailed = /^\[-\](?:ping|etcd)\b/m;

/**
 * True when an answer to `GET /readyz` says that the server can answer no request. A 500 alone does not say that: an API server that stops, or
 * that has no keys for Secrets, sends it too and still answers most requests. A server without this path is there.
 */
function cannotWork({ status, text }: Pick<TransportAnswer, "status" | "text">): boolean {
  if (status < 500) return false;
  return !list.test(text) || storageFailed.test(text);
}

// Ten seconds in two questions, in either order, say that a server is away.
const shortMs = 3_000;
const longMs = 7_000;
// As long as any request may take: a server that takes five seconds for each answer (C10) is slow, not away.
const patientMs = 10_000;

/**
 * How long a server has to answer when it is asked whether it is there, in ms: a short question first after trouble, a long one first after silence,
 * and from the third on as long as it may take for anything.
 */
export function checkTimeMs(isQuiet: boolean, failures: number): number {
  if (failures > 1) return patientMs;
  return isQuiet === (failures === 0) ? longMs : shortMs;
}
