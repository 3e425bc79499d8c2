import type { TransportRequest } from "./transport.ts";

/** One request as it went over the wire, and its end. Headers, and with them credentials, are not in it. */
export interface RequestRecord {
  readonly method: string;
  /** Address of the server and the path with its query. */
  readonly url: string;
  readonly requestBody: string | undefined;
  /** Undefined when there was no answer. */
  readonly status: number | undefined;
  /** Body of the answer; undefined when there was none, and of watches and logs, whose answers go on. */
  readonly answerBody: string | undefined;
  /** Why there was no answer. */
  readonly error: unknown;
  readonly elapsedMs: number;
}

/** Is told of every request after its end. */
export type RequestObserver = (record: RequestRecord) => void;

/** Sends a request and tells an observer, if there is one, how it went. */
export async function recorded<Answer extends { readonly status: number; readonly text?: string }>(
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
