import type {
  ServerTransport,
  TransportAnswer,
  TransportOptions,
  TransportRequest,
  TransportStream,
} from "../../access/http/request.ts";
import { assertMayWrite } from "../../access/http/write-permit.ts";
import { ConnectionError } from "../../access/kube/api-error.ts";
import { abortable, Deadline, Follower } from "../../access/time/deadline.ts";
import type { Answer } from "../simulator/answers.ts";
import type { Arrival, SimulatedCluster } from "./cluster.ts";
import type { Network, Return, Sender } from "./network.ts";
import { SimulatedStream } from "./stream.ts";

/** The connection of one replica to one cluster, in virtual time. */
export class SimulatedTransport implements ServerTransport {
  readonly #network: Network;
  readonly #sender: Sender;
  readonly #options: TransportOptions;
  readonly #cluster: SimulatedCluster | undefined;
  readonly #end = new AbortController();

  constructor(network: Network, sender: Sender, options: TransportOptions) {
    this.#network = network;
    this.#sender = sender;
    this.#options = options;
    this.#cluster = network.clusterOf(options.endpoint.server);
  }

  async send(request: TransportRequest, signal: AbortSignal): Promise<TransportAnswer> {
    const cluster = this.#reached();
    assertMayWrite(request.method, this.#options.mayWrite ?? (() => true));
    using both = new Follower(signal, this.#end.signal);
    using limit = new Deadline(this.#options.clock, request.timeoutMs, both.signal);
    const arrival = this.#arrivalOf(request);
    const isWanted = (): boolean => !limit.signal.aborted && this.#sender.isAlive;
    const answering = this.#network.exchange(this.#sender, cluster, arrival, isWanted);
    const answer = await this.#orFailure(answering, limit.signal, signal);
    return { ...headOf(answer), text: textOf(answer) };
  }

  async stream(
    request: TransportRequest,
    silenceMs: number,
    signal: AbortSignal,
  ): Promise<TransportStream & Disposable> {
    const cluster = this.#reached();
    const { clock, onBroken } = this.#options;
    const network = this.#network;
    const both = new Follower(signal, this.#end.signal);
    const body = new SimulatedStream({
      clock,
      silenceMs,
      signal: both.signal,
      time: network.time,
      wayMs: () => (this.#sender.isAlive ? network.wayMs(this.#sender, cluster) : undefined),
      faultOf: () => network.watchFault(),
      explain: (error) => this.#explained(error, signal),
      onBroken: () => onBroken?.(brokenError(cluster.server)),
      onHeard: () => request.onHeard?.(),
      receive: (callback) => this.#sender.receive(callback),
    });
    using limit = new Deadline(clock, request.timeoutMs, both.signal);
    const arrival = this.#arrivalOf(request);
    const isWanted = (): boolean => !limit.signal.aborted && this.#sender.isAlive;
    const opening = network.open(this.#sender, cluster, arrival, body, isWanted);
    try {
      const answer = await this.#orFailure(opening, limit.signal, signal);
      if (answer.status !== 200) body.refuse(textOf(answer));
      return { ...headOf(answer), body, [Symbol.dispose]: () => void body.return() };
    } catch (error) {
      void body.return();
      throw error;
    }
  }

  async drain(): Promise<void> {
    await this[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new ConnectionError("closed", `${this.#options.endpoint.server}: closed`));
    return Promise.resolve();
  }

  #arrivalOf({ method, path, headers, body }: TransportRequest): Arrival {
    const all = { ...headers, "user-agent": this.#options.userAgent };
    return { method, path, headers: all, body };
  }

  #reached(): SimulatedCluster {
    const { server } = this.#options.endpoint;
    if (this.#end.signal.aborted || !this.#sender.isAlive) {
      throw new ConnectionError("closed", `${server}: the connection was closed`);
    }
    if (this.#cluster === undefined) throw new ConnectionError("dns", `${server} is unknown`);
    return this.#cluster;
  }

  async #orFailure(
    answering: Promise<Return>,
    limited: AbortSignal,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { server } = this.#options.endpoint;
    let answer: Return;
    try {
      answer = await abortable(answering, limited);
    } catch (error) {
      throw this.#explained(error, signal);
    }
    if (typeof answer === "object") return answer;
    const broken = brokenError(server);
    // Half an answer is the end of its request, and not of the connection.
    if (answer === "nothing") this.#options.onBroken?.(broken);
    throw broken;
  }

  #explained(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (error instanceof ConnectionError) return error;
    return new ConnectionError(
      "timeout",
      `${this.#options.endpoint.server} did not answer in time`,
    );
  }
}

function brokenError(server: string): ConnectionError {
  return new ConnectionError("reset", `${server}: the connection broke`);
}

function headOf({ status, body, headers }: Answer): Omit<TransportAnswer, "text"> {
  const contentType = typeof body === "string" ? "text/plain" : "application/json";
  return { status, contentType, retryAfter: headers?.["retry-after"] };
}

function textOf({ body }: Answer): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}
