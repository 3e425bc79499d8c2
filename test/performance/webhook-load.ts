import { Agent, request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";

/** What calls at a fixed rate met with. */
export interface LoadFigures {
  readonly calls: number;
  readonly failed: number;
  /** Milliseconds from when a call was due until it was answered, so that a call that waits its turn counts as slow. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly callsPerSecond: number;
  /** Why calls failed, each with how often. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Where calls go, and what they say. */
export interface LoadTarget {
  readonly port: number;
  readonly serverName: string;
  /** Asked for each new connection, as an API server does when the `caBundle` changes. */
  readonly trusted: () => string;
  readonly path: string;
  readonly body: string;
  readonly connections: number;
  /** Connections are left for new ones after that time; absent: they are kept. */
  readonly reconnectMs?: number;
}

/** Connections for calls, and how many of the calls are not answered yet. */
interface Connections {
  readonly agent: Agent;
  readonly ca: string;
  readonly madeAt: number;
  calls: number;
}

/** Sends calls over kept connections; a call that gets no review in answer has failed. */
export class WebhookLoad implements Disposable {
  readonly #target: LoadTarget;
  #current: Connections | undefined;

  constructor(target: LoadTarget) {
    this.#target = target;
  }

  /** As many calls as the time has room for, one every `1000 / rate` ms, whether the ones before are answered or not. */
  async atRate(rate: number, until: () => boolean): Promise<LoadFigures> {
    const latencies: number[] = [];
    const startedAt = performance.now();
    const running = new Set<Promise<void>>();
    const failures: Failures = new Map();
    let sent = 0;
    while (!until()) {
      const dueMs = (sent * 1_000) / rate;
      const early = dueMs - (performance.now() - startedAt);
      if (early > 1) {
        await delay(early);
        continue;
      }
      sent += 1;
      const one = async (): Promise<void> => {
        note(failures, await this.#call());
        latencies.push(performance.now() - startedAt - dueMs);
      };
      const call = one();
      running.add(call);
      void call.finally(() => running.delete(call));
    }
    await Promise.all(running);
    return figuresOf(latencies, failures, performance.now() - startedAt);
  }

  /** Calls without a pause on each connection. */
  async flatOut(durationMs: number): Promise<LoadFigures> {
    const latencies: number[] = [];
    const startedAt = performance.now();
    const failures: Failures = new Map();
    const worker = async () => {
      while (performance.now() - startedAt < durationMs) {
        const began = performance.now();
        note(failures, await this.#call());
        latencies.push(performance.now() - began);
      }
    };
    await Promise.all(Array.from({ length: this.#target.connections }, worker));
    return figuresOf(latencies, failures, performance.now() - startedAt);
  }

  [Symbol.dispose](): void {
    this.#current?.agent.destroy();
  }

  /** Undefined, or why there was no answer. */
  #call(): Promise<string | undefined> {
    const { port, serverName: servername, path, body } = this.#target;
    const headers = {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
    };
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const options = { host: "127.0.0.1", port, servername, path, method: "POST", headers };
    const used = this.#connectionsNow();
    used.calls += 1;
    const { agent } = used;
    const call = request({ ...options, agent, timeout: 10_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve(problemIn(text)));
      response.on("error", (error) => resolve(error.message));
    });
    call.on("timeout", () => call.destroy(new Error("No answer")));
    call.on("error", (error) => resolve(error.message));
    call.end(body);
    return promise.finally(() => {
      used.calls -= 1;
      this.#endIfLeft(used);
    });
  }

  #connectionsNow(): Connections {
    const { connections: maxSockets, reconnectMs = Number.POSITIVE_INFINITY } = this.#target;
    const ca = this.#target.trusted();
    const left = this.#current;
    const isOld = left !== undefined && performance.now() - left.madeAt > reconnectMs;
    if (left !== undefined && ca === left.ca && !isOld) return left;
    const agent = new Agent({ ca, keepAlive: true, maxSockets, scheduling: "fifo" });
    this.#current = { agent, ca, madeAt: performance.now(), calls: 0 };
    if (left !== undefined) this.#endIfLeft(left);
    return this.#current;
  }

  /** Calls that wait on connections that are left get their answers still. */
  #endIfLeft(used: Connections): void {
    if (used !== this.#current && used.calls === 0) used.agent.destroy();
  }
}

type Failures = Map<string, number>;

function note(failures: Failures, problem: string | undefined): void {
  if (problem !== undefined) failures.set(problem, (failures.get(problem) ?? 0) + 1);
}

function problemIn(answer: string): string | undefined {
  const isDecided = answer.includes('"allowed":') && !answer.includes('"code":500');
  return isDecided ? undefined : answer.slice(0, 300);
}

function figuresOf(
  latencies: readonly number[],
  failures: Failures,
  elapsedMs: number,
): LoadFigures {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  return {
    calls: sorted.length,
    failed: [...failures.values()].reduce((sum, count) => sum + count, 0),
    failures: Object.fromEntries(failures),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    callsPerSecond: (sorted.length * 1_000) / elapsedMs,
  };
}
