import type { ClusterAnswers } from "./answer-budget.ts";
import { type AnswerLimits, crowdedError, excessError } from "./answer-limits.ts";
import { JsonShape } from "./json-shape.ts";

/** How an answer is read. */
export interface AnswerReading {
  /** Who answered; for messages. */
  readonly server: string;
  /** `VERB path` without a query, for messages. */
  readonly request: string;
  readonly limits: AnswerLimits;
  /** What is not JSON is not parsed, and has no shape. */
  readonly isJson: boolean;
  /** What the cluster may hold at the same time; absent: anything. */
  readonly answers: ClusterAnswers | undefined;
  readonly onBytes: (bytes: number) => void;
}

/** A body that can be ended with an error. */
export interface AnswerBody extends AsyncIterable<Buffer> {
  destroy(error: Error): unknown;
}

/**
 * The whole text of an answer. Throws ConnectionError `tooLarge` or `standIn` as soon as what came is more than the limits allow, and
 * `tooLarge` when all that is being read at the same time is too much.
 */
export async function readAnswer(
  body: AnswerBody,
  { server, request, limits, isJson, answers, onBytes }: AnswerReading,
): Promise<string> {
  using hold = answers?.open(() => void body.destroy(crowdedError(server)));
  const answered = `${server} answered ${request}`;
  const shape = new JsonShape(limits);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    onBytes(chunk.length);
    if (bytes > limits.bytes) throw excessError(answered, "bytes", limits);
    const excess = isJson ? shape.take(chunk) : undefined;
    if (excess !== undefined) throw excessError(answered, excess, limits);
    chunks.push(chunk);
    hold?.add(chunk.length);
  }
  return Buffer.concat(chunks, bytes).toString("utf8");
}
