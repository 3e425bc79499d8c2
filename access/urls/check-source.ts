import { createHash } from "node:crypto";

import type { Agent } from "undici";

import { codeOf, ConnectionError, connectionErrorOf } from "../kube/api-error.ts";
import { allowedUrlOf, type AllowedSource } from "./allowed-source.ts";
import { forbiddenCode, guardedAgent, type GuardedAgentOptions } from "./guarded-agent.ts";

export interface CheckSourceOptions extends Pick<GuardedAgentOptions, "caPem" | "resolve"> {
  /** Allowed sources; empty: every URL is refused. */
  readonly sources: readonly AllowedSource[];
  readonly userAgent: string;
}

/** A question to a server that a check of a rollout names. */
export interface UrlQuestion {
  /** Who asks, such as the namespace of a set. A connection serves one owner. */
  readonly owner: string;
  /** A plain https URL below an allowed source. */
  readonly url: string;
  /** Appended to the URL, with its query. */
  readonly path?: string;
  /** Sent as JSON by POST; absent: a GET. */
  readonly body?: unknown;
  /** CA certificates in PEM; absent: those of the source. */
  readonly caPem?: string;
  readonly authorization?: string;
}

export interface UrlAnswer {
  readonly status: number;
  /** At most 64 KiB; foreign text. */
  readonly text: string;
}

const maxBytes = 64 * 1024;
const mostKept = 64;
/** Shorter than servers keep an idle connection, so that few are closed under a question. */
const idleMs = 15_000;

/**
 * Asks the servers that checks of rollouts name, from allowed sources only: over verified TLS, without redirects, at most 64 KiB of an answer. A host name must not resolve to an
 * address of this machine or its link, unless the allowed source itself is such an address. A connection is kept for the next question of the same owner to the same server, with the same
 * authorities and credential, for 15 s. Spec: security.md T-11, T-12, T-30, T-31.
 */
export class CheckSource implements AsyncDisposable {
  readonly #options: CheckSourceOptions;
  /** By owner, server, authorities and credential; the one that was used last is the last one. */
  readonly #agents = new Map<string, Agent>();

  constructor(options: CheckSourceOptions) {
    this.#options = options;
  }

  /** Throws ConnectionError, `notAllowed` for a URL that is not below a source, and the reason of the signal. */
  async ask(question: UrlQuestion, signal: AbortSignal): Promise<UrlAnswer> {
    const url = allowedUrlOf(question.url, this.#options.sources, "--check-source");
    if (typeof url === "string") throw new ConnectionError("notAllowed", `The URL: ${url}`);
    try {
      return await this.#send(url, question, signal);
    } catch (error) {
      signal.throwIfAborted();
      const failure = failureOf(error, url);
      // A server may close a kept connection just when it is used.
      if (failure.failure !== "reset") throw failure;
    }
    try {
      return await this.#send(url, question, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, url);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
    this.#agents.clear();
  }

  async #send(url: URL, question: UrlQuestion, signal: AbortSignal): Promise<UrlAnswer> {
    const { body, authorization, path = "" } = question;
    const answer = await this.#agentFor(url, question).request({
      origin: url.origin,
      path: `${path === "" ? url.pathname : url.pathname.replace(/\/$/, "")}${url.search}${path}`,
      method: body === undefined ? "GET" : "POST",
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal,
      headers: {
        "user-agent": this.#options.userAgent,
        accept: "application/json",
        "accept-encoding": "identity",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(authorization !== undefined && { authorization }),
      },
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  #agentFor({ origin }: URL, { owner, caPem, authorization }: UrlQuestion): Agent {
    const identity = JSON.stringify([owner, origin, caPem ?? "", authorization ?? ""]);
    const key = createHash("sha256").update(identity).digest("hex");
    const { sources: _sources, userAgent: _name, ...trust } = this.#options;
    const agent =
      this.#agents.get(key) ??
      guardedAgent({ ...trust, maxBytes, idleMs, ...(caPem !== undefined && { caPem }) });
    this.#agents.delete(key);
    this.#agents.set(key, agent);
    for (const [oldest, unused] of [...this.#agents].slice(0, -mostKept)) {
      this.#agents.delete(oldest);
      // Lets its open questions end.
      void unused.close();
    }
    return agent;
  }
}

function failureOf(error: unknown, { origin }: URL): ConnectionError {
  const code = codeOf(error);
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") {
    return new ConnectionError("tooLarge", `${origin} answered more than ${maxBytes / 1024} KiB`);
  }
  if (code === forbiddenCode) {
    const message = `${origin} has a host whose name leads to a forbidden address`;
    return new ConnectionError("notAllowed", message);
  }
  return connectionErrorOf(error, origin);
}
