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

/**
 * Asks the servers that checks of rollouts name, from allowed sources only: over verified TLS, without redirects, at most 64 KiB of an answer. A host name must not resolve to an
 * address of this machine or its link, unless the allowed source itself is such an address. Spec: security.md T-11, T-12, T-30, T-31.
 */
export class CheckSource {
  readonly #options: CheckSourceOptions;

  constructor(options: CheckSourceOptions) {
    this.#options = options;
  }

  /** Throws ConnectionError, `notAllowed` for a URL that is not below a source, and the reason of the signal. */
  async ask(question: UrlQuestion, signal: AbortSignal): Promise<UrlAnswer> {
    const { sources, userAgent, ...trust } = this.#options;
    const url = allowedUrlOf(question.url, sources, "--check-source");
    if (typeof url === "string") throw new ConnectionError("notAllowed", `The URL: ${url}`);
    const { body, caPem, authorization, path = "" } = question;
    // A connection of its own: each check may trust another authority, and is asked twice a minute.
    const agent = guardedAgent({ ...trust, maxBytes, ...(caPem !== undefined && { caPem }) });
    try {
      const answer = await agent.request({
        origin: url.origin,
        path: `${path === "" ? url.pathname : url.pathname.replace(/\/$/, "")}${url.search}${path}`,
        method: body === undefined ? "GET" : "POST",
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal,
        headers: {
          "user-agent": userAgent,
          accept: "application/json",
          "accept-encoding": "identity",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(authorization !== undefined && { authorization }),
        },
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch (error) {
      signal.throwIfAborted();
      throw failureOf(error, url);
    } finally {
      await agent.destroy();
    }
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
