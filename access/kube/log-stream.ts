import type { Requester } from "../http/request.ts";
import { beginningOf } from "../http/streamed-answer.ts";
import { apiErrorOf } from "./api-answer.ts";
import type { LogRef } from "./kube-client.ts";

const headersTimeoutMs = 30_000;
// A container may log nothing for long. A caller that follows it opens the stream again then.
const silenceMs = 300_000;
const maxLineBytes = 64 * 1024;

/**
 * The lines of one container's log, each after its time. Lines are cut at 64 KiB. Ends when the server ends the stream; throws as `KubeClient`
 * documents.
 */
export async function* logStream(
  requester: Requester,
  { namespace, pod, container, follow, sinceTime, tailLines }: LogRef,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const query = new URLSearchParams({
    container,
    timestamps: "true",
    ...(follow ? { follow: "true" } : {}),
    ...(sinceTime === undefined ? {} : { sinceTime }),
    ...(tailLines === undefined ? {} : { tailLines: String(tailLines) }),
  });
  const logPath = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`;
  // Also ends the request when the consumer stops early.
  using answer = await requester.stream(
    {
      method: "GET",
      path: `${logPath}?${query.toString()}`,
      verb: "log",
      // The log subresource answers 406 unless JSON is accepted.
      headers: { accept: "application/json, */*" },
      timeoutMs: headersTimeoutMs,
    },
    silenceMs,
    signal,
  );
  if (answer.status !== 200) {
    const text = await beginningOf(answer.body);
    throw apiErrorOf({ ...answer, text }, `GET ${logPath}`);
  }
  yield* cutLines(answer.body);
}

async function* cutLines(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let pending: Buffer[] = [];
  let bytes = 0;
  const take = (part: Buffer): void => {
    const room = maxLineBytes - bytes;
    if (room > 0) pending.push(part.subarray(0, room));
    bytes += part.length;
  };
  const line = (): string => {
    const text = Buffer.concat(pending).toString("utf8");
    pending = [];
    bytes = 0;
    return text;
  };
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
      yield line();
    }
    take(chunk.subarray(start));
  }
  if (bytes > 0) yield line();
}
