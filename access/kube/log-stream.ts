import type { Requester } from "../http/request.ts";
import { apiErrorOf } from "./api-answer.ts";
import type { LogRef } from "./kube-client.ts";
import { beginningOf } from "./watch-stream.ts";

const headersTimeoutMs = 30_000;
// A container may have nothing to say for long; who follows it asks again then.
const silenceMs = 300_000;
const maxLineBytes = 64 * 1024;

/**
 * The lines of one container's log, as the kubelet wrote them, each with its time in front. What is longer than 64 KiB is cut. Ends when the server ends it; throws
 * as `KubeClient` says.
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
  const place = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`;
  // Ended also when the consumer stops in the middle.
  using answer = await requester.stream(
    {
      method: "GET",
      path: `${place}?${query.toString()}`,
      verb: "log",
      // The subresource answers 406 to anything that leaves JSON out.
      headers: { accept: "application/json, */*" },
      timeoutMs: headersTimeoutMs,
    },
    silenceMs,
    signal,
  );
  if (answer.status !== 200) {
    const text = await beginningOf(answer.body);
    throw apiErrorOf({ ...answer, text }, `GET ${place}`);
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
