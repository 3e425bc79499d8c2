import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { describe } from "../../api/kubernetes.ts";
import type { Code } from "../../api/reasons.ts";
import { AnswerBudget } from "../answer-limits.ts";
import { TurnWaits } from "../deadline.ts";
import { addressGuard, type AddressGuard } from "../http/address-guard.ts";
import type { Times } from "../http/connect-times.ts";
import type { Silence } from "../http/liveness.ts";
import { RequestCounters } from "../http/request-counters.ts";
import type { RequestObserver } from "../http/request-record.ts";
import { AuthorizedRequester } from "../http/requester.ts";
import type { TransportAnswer } from "../http/transport.ts";
import type { MayWrite } from "../http/write-permit.ts";
import { ConnectionError, type ConnectionFailure } from "../kube/api-error.ts";
import { createKubeClient } from "../kube/create-kube-client.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isBuiltIn, runBuiltIn } from "../plugins/built-in-plugins.ts";
import { RenewingCredentials } from "../plugins/credential-source.ts";
import type { Credential } from "../plugins/credential.ts";
import { runExecPlugin } from "../plugins/exec-plugin.ts";
import { PluginLimits } from "../plugins/plugin-limits.ts";
import { pluginEnvironment } from "../plugins/plugin-policy.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import { AttemptSteps, type StepObserver } from "./attempt-steps.ts";
import type { ConnectTurns } from "./connect-turns.ts";
import { Gate } from "./gate.ts";
import { PathMetrics } from "./path-metrics.ts";
import { cannotWork } from "./readiness-answer.ts";
import { resolveAccess, type ResolvedAccess } from "./resolved-access.ts";
import type { SpokeConnection } from "./spokes.ts";

export interface SpokeDeps {
  /** Environment of our process; plugins see a part of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userAgent: string;
  /** Where built-in readers read Secrets; without it they fail. */
  readonly hub?: Pick<KubeClient, "get">;
  readonly counters?: RequestCounters;
  readonly onRequest?: RequestObserver;
  readonly path?: PathMetrics;
  readonly onStep?: StepObserver;
  /** Called when a plugin gave a spoke the token of others, which have another server. */
  readonly onSharedToken?: (spoke: string, others: readonly string[]) => void;
  /** Folders below which the plugins' real paths have to be; absent or empty: anywhere. */
  readonly pluginRoots?: readonly string[];
  /** Limits how many plugins run at the same time. */
  readonly plugins?: PluginLimits;
  /** Limits what spokes may answer at the same time. */
  readonly answers?: AnswerBudget;
  /** Limits how many connections are attempted at the same time. */
  readonly turns?: ConnectTurns;
  /** Told when a plugin waits for its place. */
  readonly waits?: TurnWaits;
  readonly silence?: Silence;
  /** How long a server may say nothing on its watches before it is asked. */
  readonly quiet?: Silence;
  /** Absent: everything may be sent at any time. */
  readonly mayWrite?: MayWrite;
  /** Called with every credential that is obtained, for who has to keep it out of what he writes. */
  readonly onCredential?: (credential: Credential) => void;
}

const probeTimeoutMs = 10_000;
// What a question may take besides the server's answer, such as the time for a credential.
const questionSlackMs = 1_000;
// The pace of plugins: who asks meanwhile is told why at once, and does not wait.
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

/** How a credential is obtained: paced and limited, measured and reported. */
function obtaining(
  access: ResolvedAccess,
  deps: SpokeDeps,
  steps: AttemptSteps,
): (signal: AbortSignal) => Promise<Credential> {
  const plugins = deps.plugins ?? new PluginLimits();
  const surroundings = {
    environment: pluginEnvironment(deps.environment),
    now: () => new Date(),
    policy: { roots: deps.pluginRoots ?? [] },
  };
  const path = deps.path ?? new PathMetrics();
  const spoke = spokeOf(access);
  const measured = (work: () => Promise<Credential>, signal: AbortSignal): Promise<Credential> =>
    steps.plugin(() => path.measure(access.provider, work, signal));
  const entered = async (signal: AbortSignal): Promise<Disposable> => {
    using _wait = deps.waits?.begin();
    return await plugins.enter(access, signal);
  };
  let isFirst = true;
  const run = async (signal: AbortSignal): Promise<Credential> => {
    await plugins.pace.enter(spoke, isFirst, signal);
    isFirst = false;
    if (isBuiltIn(access.plan.command)) {
      const withHub = { ...surroundings, hub: deps.hub };
      return measured(() => runBuiltIn(access.plan, withHub, signal), signal);
    }
    using _place = await entered(signal);
    // Awaited here, or the place would be given back at once.
    return await measured(() => runExecPlugin(access.plan, surroundings, signal), signal);
  };
  return async (signal) => {
    const credential = await run(signal);
    signal.throwIfAborted();
    deps.onCredential?.(credential);
    path.credentialOf(spoke, credential);
    const { server } = access.endpoint;
    const sharers = path.tokens.note(spoke, server, credential.authorization);
    if (sharers.length > 0) deps.onSharedToken?.(spoke, sharers);
    return credential;
  };
}

/** A credential for the cluster of a profile, of a plugin run of its own; nothing is connected. Throws `FleetError` `AccessProviderFailed`, or the reason of the signal. */
export function freshCredential(
  access: ResolvedAccess,
  deps: SpokeDeps,
  signal: AbortSignal,
): Promise<Credential> {
  return obtaining(access, deps, new AttemptSteps(access, deps.onStep))(signal);
}

/** Whether a status says that the server is there, to who asks for its version. */
function isThere(status: number): boolean {
  // 403 is an answer to somebody it knows; what is not allowed shows where it is needed. One that has no time (429) is there as well.
  return status === 200 || status === 403 || status === 429;
}

/** How the metrics name it. */
function spokeOf({ profile: { namespace, name } }: ResolvedAccess): string {
  return `${namespace}/${name}`;
}

/** Where connections of a way in may go. */
export function guardOf(
  access: Pick<ResolvedAccess, "allowedServers" | "allowedProxies">,
  { environment }: Pick<SpokeDeps, "environment">,
): AddressGuard {
  return addressGuard({
    allowed: access.allowedServers,
    allowedProxies: access.allowedProxies,
    // In a pod there is nothing but the pod itself; elsewhere clusters of kind and k3d are there.
    loopback: (environment["KUBERNETES_SERVICE_HOST"] ?? "") === "",
  });
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

  /** Something is being watched, or a request has no answer yet. */
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

  /** Ends the connection; whoever still uses it gets this error. */
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
