import { setTimeout as delay } from "node:timers/promises";

import { FleetError } from "../../api/errors.ts";
import { isJson } from "../json.ts";
import { ConnectionError } from "../kube/api-error.ts";
import type { ClientCertificate, Credential, CredentialSource } from "../plugins/credential.ts";
import type {
  AuthorizedRequest,
  Requester,
  RequestObserver,
  RequestRecord,
  TransportAnswer,
  TransportOptions,
  TransportRequest,
  TransportStream,
} from "./request.ts";
import { retryDelayMs } from "./retry.ts";
import { Transport } from "./transport.ts";

export interface RequesterOptions extends Omit<TransportOptions, "certificate" | "onBroken"> {
  readonly credentials: CredentialSource;
  /** Called when the connection broke or the server rejected a fresh credential; a reason to look closer. */
  readonly onTrouble?: (error: Error) => void;
  /** Is told of every request, also of one that is repeated. */
  readonly onRequest?: RequestObserver;
}

/** How long a write may take, in ms. A server answers within 34 s, of which a webhook may take 30, and names the webhook that was too slow; a shorter limit would lose that answer. */
export const writeTimeoutMs = 40_000;

/**
 * The way to one API server: the current credential on each request, one refresh and one repetition after 401, bounded
 * repetition of what may be repeated, and a connection of its own for each client certificate.
 *
 * Throws `ConnectionError` (also for a 401 that is no Status, which comes from something in front of the server), `WriteRefusedError`, `FleetError` `AccessProviderFailed` (no credential, or code `CredentialRejected`), or the
 * reason of the signal. Every other answer is returned.
 */
export class AuthorizedRequester implements Requester, AsyncDisposable {
  readonly server: string;
  readonly #options: RequesterOptions;
  #transport: Transport | undefined;
  /** Those of earlier certificates, on which something still runs. */
  readonly #draining = new Set<Transport>();
  #certificate: ClientCertificate | undefined;
  /** A credential that was fresh when something in front of the server answered 401: a fresher one changes nothing. */
  #inVain: Credential | undefined;
  #closed = false;

  constructor(options: RequesterOptions) {
    this.#options = options;
    this.server = options.endpoint.server;
  }

  async send(request: AuthorizedRequest, signal: AbortSignal): Promise<TransportAnswer> {
    const started = performance.now();
    for (let attempts = 1; ; attempts += 1) {
      const outcome = await this.#attempt(request, signal);
      // Any answer shows that the server is there.
      if (request.isQuestion === true && !("error" in outcome)) return outcome;
      const facts = {
        attempts,
        elapsedMs: performance.now() - started,
        idempotent: request.idempotent,
      };
      const waitMs = retryDelayMs(outcome, facts, Math.random());
      if (waitMs === undefined) {
        if ("error" in outcome) throw outcome.error;
        return outcome;
      }
      try {
        await delay(waitMs, undefined, { signal });
      } catch (error) {
        // A timer says only that it was aborted.
        signal.throwIfAborted();
        throw error;
      }
    }
  }

  stream(
    request: TransportRequest,
    silenceMs: number,
    signal: AbortSignal,
  ): Promise<TransportStream & Disposable> {
    return this.#authorized(
      request,
      async (transport, authorized) => {
        const answer = await transport.stream(authorized, silenceMs, signal);
        if (answer.status === 401) answer[Symbol.dispose]();
        return answer;
      },
      signal,
    );
  }

  /** Sends later requests over a new connection; running requests have 40 s to finish on the old one. */
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
      return await this.#authorized(
        request,
        (transport, authorized) => transport.send(authorized, signal),
        signal,
      );
    } catch (error) {
      signal.throwIfAborted();
      return { error };
    }
  }

  async #authorized<Answer extends Answered>(
    request: TransportRequest,
    use: (transport: Transport, request: TransportRequest) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { credentials, onRequest } = this.#options;
    const sent = (as: Credential): Promise<Answer> =>
      recorded({ server: this.server, onRequest }, request, () =>
        use(this.#transportFor(as), withHeaders(request, as)),
      );
    const credential = await this.#credential(signal);
    const answer = await sent(credential);
    if (answer.status !== 401) return answer;
    if (isForeign(answer) && credential === this.#inVain) throw this.#away();
    credentials.reject(credential);
    // A server answers 401 before it processes the request, so repeating is safe.
    const fresh = await this.#credential(signal);
    const second = await sent(fresh);
    if (second.status !== 401) return second;
    if (isForeign(second)) {
      this.#inVain = fresh;
      throw this.#away();
    }
    credentials.reject(fresh);
    throw this.#rejected();
  }

  async #credential(signal: AbortSignal): Promise<Credential> {
    try {
      return await this.#options.credentials.current(signal);
    } catch (error) {
      // While new attempts are held back, the cause is still the same and so is what is said of it.
      const held = error instanceof FleetError && error.code === "CredentialRejected";
      throw held ? this.#rejected() : error;
    }
  }

  #rejected(): FleetError {
    const error = new FleetError(
      "AccessProviderFailed",
      `${this.server} does not accept the credential, also not a fresh one`,
      { code: "CredentialRejected" },
    );
    this.#options.onTrouble?.(error);
    return error;
  }

  /** A frozen API server behind a proxy is an outage; the credential may be good. */
  #away(): ConnectionError {
    const message = `${this.server} answered 401, but not as an API server does: something in front of it does not reach it, or does not accept the credential`;
    return new ConnectionError("other", message);
  }

  #transportFor({ certificate }: Credential): Transport {
    if (this.#closed)
      throw new ConnectionError("closed", `${this.server}: the connection was closed`);
    if (this.#transport !== undefined && sameCertificate(certificate, this.#certificate)) {
      return this.#transport;
    }
    // The new certificate needs a new connection; what runs on the old one may finish.
    if (this.#transport !== undefined) void this.#drain(this.#transport);
    this.#certificate = certificate;
    const { credentials: _, onRequest: _observer, onTrouble, ...options } = this.#options;
    this.#transport = new Transport({
      ...options,
      ...(certificate === undefined ? {} : { certificate }),
      ...(onTrouble === undefined ? {} : { onBroken: onTrouble }),
    });
    return this.#transport;
  }

  async #drain(transport: Transport): Promise<void> {
    this.#draining.add(transport);
    await transport.drain(writeTimeoutMs);
    this.#draining.delete(transport);
  }
}

interface Answered {
  readonly status: number;
  readonly contentType: string;
  readonly text?: string;
}

/** An API server refuses a credential with a Status, which is JSON. */
function isForeign({ contentType }: Answered): boolean {
  return !isJson(contentType);
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

/** Sends a request and tells an observer, if there is one, how it went. */
async function recorded<Answer extends { readonly status: number; readonly text?: string }>(
  { server, onRequest }: { readonly server: string; readonly onRequest?: RequestObserver },
  { method, path, body }: TransportRequest,
  send: () => Promise<Answer>,
): Promise<Answer> {
  if (onRequest === undefined) return await send();
  const startedAt = performance.now();
  const tell = (end: Pick<RequestRecord, "status" | "answerBody" | "error">): void => {
    const elapsedMs = performance.now() - startedAt;
    onRequest({ method, url: `${server}${path}`, requestBody: body, elapsedMs, ...end });
  };
  try {
    const answer = await send();
    tell({ status: answer.status, answerBody: answer.text, error: undefined });
    return answer;
  } catch (error) {
    tell({ status: undefined, answerBody: undefined, error });
    throw error;
  }
}
