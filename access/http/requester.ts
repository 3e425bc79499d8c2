import { FleetError } from "../../api/errors.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { ConnectionError } from "../kube/api-error.ts";
import type { ClientCertificate, Credential, CredentialSource } from "../plugins/credential.ts";
import { type Clock, delay } from "../time/clock.ts";
import { refuserOf, type Refusal } from "./refusal.ts";
import type {
  AuthorizedRequest,
  OpenTransport,
  Requester,
  RequestObserver,
  RequestRecord,
  ServerTransport,
  TransportAnswer,
  TransportOptions,
  TransportRequest,
  TransportStream,
} from "./request.ts";
import { retryDelayMs } from "./retry.ts";
import { beginningOf } from "./streamed-answer.ts";
import { Transport } from "./transport.ts";

export interface RequesterOptions extends Omit<TransportOptions, "certificate" | "onBroken"> {
  readonly credentials: CredentialSource;
  readonly openTransport?: OpenTransport;
  /** Called when the connection broke or the server rejected a fresh credential, to check the server. */
  readonly onTrouble?: (error: Error) => void;
  /** Called after each request, also after each repetition. */
  readonly onRequest?: RequestObserver;
}

/** How long a write may take, in ms. A slow webhook takes up to 30 s, and the server names it after at most 34 s: a shorter limit would lose that answer. */
export const writeTimeoutMs = 40_000;
// Of what a proxy says with a 401.
const longestSaid = 300;

/**
 * Sends requests to one API server. Puts the current credential on each request, refreshes it once after a 401, and repeats requests that are safe to
 * repeat a limited number of times. Each client certificate has its own connection.
 *
 * Throws `ConnectionError` (also for a 401 that is no Status, which a proxy in front of the server sent), `WriteRefusedError`, `FleetError`
 * `AccessProviderFailed` (no credential, or code `CredentialRejected`), or the reason of the signal. Returns every other answer.
 */
export class AuthorizedRequester implements Requester, AsyncDisposable {
  readonly server: string;
  readonly #options: RequesterOptions;
  #transport: ServerTransport | undefined;
  /** Transports of earlier certificates with running requests. */
  readonly #draining = new Set<ServerTransport>();
  #certificate: ClientCertificate | undefined;
  /** The fresh credential for which a proxy in front of the server answered 401: another refresh would not help. */
  #uselessCredential: Credential | undefined;
  #closed = false;

  constructor(options: RequesterOptions) {
    this.#options = options;
    this.server = options.endpoint.server;
  }

  async send(request: AuthorizedRequest, signal: AbortSignal): Promise<TransportAnswer> {
    const { clock } = this.#options;
    const started = clock.now();
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await this.#attempt(request, signal);
      // Any answer shows that the server exists.
      if (request.isQuestion === true && !("error" in outcome)) return outcome;
      const facts = {
        attempts,
        elapsedMs: clock.now() - started,
        idempotent: request.idempotent,
      };
      const waitMs = retryDelayMs(outcome, facts, clock.random());
      if (waitMs === undefined) {
        if ("error" in outcome) throw outcome.error;
        return outcome;
      }
      await delay(clock, waitMs, signal);
    }
  }

  stream(
    request: TransportRequest,
    silenceMs: number,
    signal: AbortSignal,
  ): Promise<TransportStream & Disposable> {
    return this.#sendAuthorized(
      request,
      async (transport, authorized) => {
        const answer = await transport.stream(authorized, silenceMs, signal);
        if (answer.status !== 401) return answer;
        using _ended = answer;
        return { ...answer, text: await beginningOf(answer.body) };
      },
      signal,
    );
  }

  /** Sends later requests over a new connection. Running requests have 40 s to finish on the old one. */
  reconnect(): void {
    if (this.#transport === undefined) return;
    void this.#drain(this.#transport);
    this.#transport = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const transports = [
      ...this.#draining,
      ...(this.#transport === undefined ? [] : [this.#transport]),
    ];
    await Promise.all(transports.map((transport) => transport[Symbol.asyncDispose]()));
  }

  async #attempt(
    request: AuthorizedRequest,
    signal: AbortSignal,
  ): Promise<TransportAnswer | { readonly error: unknown }> {
    try {
      return await this.#sendAuthorized(
        request,
        (transport, authorized) => transport.send(authorized, signal),
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      return { error };
    }
  }

  async #sendAuthorized<Answer extends Refusal & { readonly status: number }>(
    request: TransportRequest,
    use: (transport: ServerTransport, request: TransportRequest) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { clock, credentials, onRequest } = this.#options;
    const sendAs = (as: Credential): Promise<Answer> =>
      sendRecorded({ clock, server: this.server, onRequest }, request, () =>
        use(this.#transportFor(as), withHeaders(request, as)),
      );
    const credential = await this.#currentCredential(signal);
    const answer = await sendAs(credential);
    if (answer.status !== 401) return answer;
    this.#throwOutage(answer, credential);
    credentials.reject(credential);
    // A server answers 401 before it processes the request, so repeating is safe.
    const fresh = await this.#currentCredential(signal);
    const second = await sendAs(fresh);
    if (second.status !== 401) return second;
    if (refuserOf(second) === "proxy") this.#uselessCredential = fresh;
    this.#throwOutage(second, fresh);
    credentials.reject(fresh);
    throw this.#reportRejection();
  }

  async #currentCredential(signal: AbortSignal): Promise<Credential> {
    try {
      return await this.#options.credentials.current(signal);
    } catch (error) {
      // While new runs of the plugin are held back, the last rejection is still the cause.
      const isHeldBack = error instanceof FleetError && error.code === "CredentialRejected";
      throw isHeldBack ? this.#reportRejection() : error;
    }
  }

  #reportRejection(): FleetError {
    const error = new FleetError(
      "AccessProviderFailed",
      `${this.server} does not accept the credential, also not a fresh one`,
      { code: "CredentialRejected" },
    );
    this.#options.onTrouble?.(error);
    return error;
  }

  /** Throws when a proxy in front of the API server answered 401 and the credential may be valid: that is an outage. */
  #throwOutage(answer: Refusal, credential: Credential): void {
    const refuser = refuserOf(answer);
    const isUseless = refuser === "proxy" && credential === this.#uselessCredential;
    if (refuser !== "unreached" && !isUseless) return;
    const why =
      refuser === "unreached"
        ? "because it does not reach the API server"
        : "but not as an API server does: something in front of it does not reach it, or does not accept the credential";
    const said = foreignText(answer.text ?? "", longestSaid);
    const message = `${this.server} answered 401, ${why}${said === "" ? "" : `: ${said}`}`;
    throw new ConnectionError("other", message);
  }

  #transportFor({ certificate }: Credential): ServerTransport {
    if (this.#closed) {
      throw new ConnectionError("closed", `${this.server}: the connection was closed`);
    }
    if (this.#transport !== undefined && sameCertificate(certificate, this.#certificate)) {
      return this.#transport;
    }
    // A new certificate needs a new connection. Running requests may finish on the old one.
    if (this.#transport !== undefined) void this.#drain(this.#transport);
    this.#certificate = certificate;
    const { openTransport = overNetwork, onTrouble, ...others } = this.#options;
    const { credentials: _, onRequest: _observer, ...options } = others;
    this.#transport = openTransport({
      ...options,
      ...(certificate === undefined ? {} : { certificate }),
      ...(onTrouble === undefined ? {} : { onBroken: onTrouble }),
    });
    return this.#transport;
  }

  async #drain(transport: ServerTransport): Promise<void> {
    this.#draining.add(transport);
    await transport.drain(writeTimeoutMs);
    this.#draining.delete(transport);
  }
}

function overNetwork(options: TransportOptions): ServerTransport {
  return new Transport(options);
}

function withHeaders(request: TransportRequest, credential: Credential): TransportRequest {
  const authorization = credential.authorization?.reveal();
  return {
    ...request,
    headers: {
      ...request.headers,
      ...credential.headers,
      ...(authorization === undefined ? {} : { authorization }),
    },
  };
}

function sameCertificate(
  a: ClientCertificate | undefined,
  b: ClientCertificate | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.certificatePem === b.certificatePem && a.keyPem.reveal() === b.keyPem.reveal();
}

interface Recording {
  readonly clock: Clock;
  readonly server: string;
  readonly onRequest?: RequestObserver;
}

/** Sends a request, and reports its end to an observer if there is one. */
async function sendRecorded<Answer extends { readonly status: number; readonly text?: string }>(
  { clock, server, onRequest }: Recording,
  { method, path, body }: TransportRequest,
  send: () => Promise<Answer>,
): Promise<Answer> {
  if (onRequest === undefined) return await send();
  const startedAt = clock.now();
  const report = (end: Pick<RequestRecord, "status" | "answerBody" | "error">): void => {
    const elapsedMs = clock.now() - startedAt;
    onRequest({ method, url: `${server}${path}`, requestBody: body, elapsedMs, ...end });
  };
  try {
    const answer = await send();
    report({ status: answer.status, answerBody: answer.text, error: undefined });
    return answer;
  } catch (error) {
    report({ status: undefined, answerBody: undefined, error });
    throw error;
  }
}
