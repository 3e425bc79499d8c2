import { JsonShape, type ShapeExcess, type ShapeLimits } from "./json.ts";
import { ConnectionError } from "./kube/api-error.ts";

/** How large one answer may be. */
interface AnswerLimits extends ShapeLimits {
  readonly bytes: number;
}

const mebibyte = 1024 * 1024;

/**
 * Limits of an answer, by kind. They are far above the answers of API servers: an object has 3 MiB at most, and the largest definitions of Knative have
 * some 20,000 values at a depth of 40. Security: T-50, F9.
 */
export const answerLimits = {
  /** Version and health. */
  status: { bytes: 64 * 1024, depth: 16, values: 1_000 },
  error: { bytes: mebibyte, depth: 32, values: 20_000 },
  /** Also an event of a watch, and documents such as those of discovery. */
  object: { bytes: 8 * mebibyte, depth: 200, values: 200_000 },
  /** One page. */
  list: { bytes: 16 * mebibyte, depth: 200, values: 500_000 },
} as const satisfies Readonly<Record<string, AnswerLimits>>;

export type AnswerKind = keyof typeof answerLimits;

/** The error for an answer above a limit. `answered`: the beginning of its message, for example `https://spoke answered GET /version`. */
export function excessError(
  answered: string,
  excess: ShapeExcess | "bytes",
  limits: AnswerLimits,
): ConnectionError {
  if (excess === "depth") {
    const message = `${answered} with JSON of more than ${limits.depth} levels: something else answers in its place`;
    return new ConnectionError("standIn", message);
  }
  const most = excess === "values" ? `${limits.values} values` : sizeText(limits.bytes);
  return new ConnectionError("tooLarge", `${answered} with more than ${most}`);
}

/** The error for an answer that was dropped because the budget of unfinished answers is used up. */
export function crowdedError(server: string): ConnectionError {
  const message = `${server} sends more than may be read at the same time`;
  return new ConnectionError("tooLarge", message);
}

function sizeText(bytes: number): string {
  return bytes < mebibyte ? `${bytes / 1024} KiB` : `${bytes / mebibyte} MiB`;
}

/** The bytes of the budget that one answer takes while it is read. Disposing it returns them. */
export interface AnswerHold extends Disposable {
  /** Takes more bytes. */
  add(bytes: number): void;
}

/** The share of one cluster in the budget. */
export interface ClusterAnswers {
  /** Starts an answer. `giveUp` is called at most once, when the budget is exceeded: the caller has to drop the answer. */
  open(giveUp: () => void): AnswerHold;
}

interface AnswerBudgetOptions {
  /** Bytes that all clusters together may hold. */
  readonly total: number;
  /** Bytes that one cluster may hold. */
  readonly each: number;
}

const defaultBudget: AnswerBudgetOptions = { total: 96 * mebibyte, each: 48 * mebibyte };

interface Hold {
  bytes: number;
  readonly giveUp: () => void;
}

/**
 * Limits the memory of all unfinished answers. Above the limit, the cluster that holds most loses its largest answer. Requests never wait for the budget,
 * so a cluster that answers without end does not slow down the others.
 */
export class AnswerBudget {
  readonly #options: AnswerBudgetOptions;
  /** Clusters that hold bytes. */
  readonly #clusters = new Set<Cluster>();
  #bytes = 0;

  constructor(options: AnswerBudgetOptions = defaultBudget) {
    this.#options = options;
  }

  /** Returns the share of a new cluster. */
  cluster(): ClusterAnswers {
    const { total, each } = this.#options;
    const cluster: Cluster = new Cluster((bytes) => {
      this.#bytes += bytes;
      if (cluster.bytes === 0) this.#clusters.delete(cluster);
      else this.#clusters.add(cluster);
      if (bytes <= 0) return;
      while (cluster.bytes > each) cluster.dropLargest();
      while (this.#bytes > total) largest(this.#clusters)?.dropLargest();
    });
    return cluster;
  }
}

class Cluster implements ClusterAnswers {
  readonly #onChange: (bytes: number) => void;
  readonly #holds = new Set<Hold>();
  bytes = 0;

  constructor(onChange: (bytes: number) => void) {
    this.#onChange = onChange;
  }

  open(giveUp: () => void): AnswerHold {
    const hold: Hold = { bytes: 0, giveUp };
    this.#holds.add(hold);
    return {
      add: (bytes) => {
        if (!this.#holds.has(hold)) return;
        hold.bytes += bytes;
        this.#change(bytes);
      },
      [Symbol.dispose]: () => this.#end(hold),
    };
  }

  dropLargest(): void {
    const hold = largest(this.#holds);
    if (hold === undefined) return;
    this.#end(hold);
    hold.giveUp();
  }

  #end(hold: Hold): void {
    if (this.#holds.delete(hold)) this.#change(-hold.bytes);
  }

  #change(bytes: number): void {
    this.bytes += bytes;
    this.#onChange(bytes);
  }
}

/** The part that holds most; undefined without any. */
export function largest<Part extends { readonly bytes: number }>(
  parts: Iterable<Part>,
): Part | undefined {
  return [...parts].toSorted((a, b) => b.bytes - a.bytes)[0];
}

interface AnswerReading {
  /** Base URL of the server, for messages. */
  readonly server: string;
  /** `VERB path` without a query, for messages. */
  readonly request: string;
  readonly limits: AnswerLimits;
  /** Only JSON is limited in depth and values. */
  readonly isJson: boolean;
  /** Budget of the cluster. Undefined: no limit. */
  readonly answers: ClusterAnswers | undefined;
  readonly onBytes: (bytes: number) => void;
}

/** A body that can be ended with an error. */
export interface AnswerBody extends AsyncIterable<Buffer> {
  destroy(error: Error): unknown;
}

/**
 * Reads the whole text of an answer. Throws ConnectionError `tooLarge` or `standIn` as soon as the answer exceeds a limit, and `tooLarge` when the budget
 * is exceeded.
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
