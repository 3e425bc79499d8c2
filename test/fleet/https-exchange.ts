import type { IncomingHttpHeaders } from "node:http";
import { request, type Agent } from "node:https";

/** One request of a test's own set-up. */
export interface Exchange {
  readonly url: string;
  readonly method: string;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Default 10 s without any byte. */
  readonly silenceMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body when its content type says JSON; undefined for that of a watch, which is an object a line. */
  readonly json: unknown;
}

/** Sends a request over HTTP/1.1 and reads the whole answer; rejects when there is none. */
export function exchange(wanted: Exchange): Promise<Answer> {
  const { url, method, agent, headers, body, signal, silenceMs = 30_000 } = wanted;
  // Node sends the body of a DELETE without saying how long it is, and the server takes it for the next request.
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const options = {
    method,
    agent,
    headers: { ...headers, ...length },
    signal,
    timeout: silenceMs,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const isJson = response.headers["content-type"]?.includes("json") === true;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: isJson ? parsed(text) : undefined,
        });
      });
    });
    sent.on("timeout", () => {
      sent.destroy(new Error(`${method} ${url} was silent for ${silenceMs} ms`));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
