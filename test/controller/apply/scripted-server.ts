import { ApiError, type ApiErrorFacts } from "../../../access/kube/api-error.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import type { DesiredObject } from "../../../installation/desired.ts";
import { settled } from "../../support/fake-clock.ts";

/** What a request meets. */
export type Answer = "taken" | "going" | Partial<ApiErrorFacts> | Error;

/** A server that answers each object by its name, and only when it is told to. */
export class Server {
  readonly sent: string[] = [];
  readonly cleared: string[] = [];
  /** How often something can be done about a refusal. */
  clearable = 1;
  readonly #answers = new Map<string, Answer[]>();
  readonly #held = new Map<string, () => void>();
  running = 0;
  mostRunning = 0;

  /** What an object meets, one answer a request; the last one stays. */
  answer(name: string, ...answers: Answer[]): void {
    this.#answers.set(name, answers);
  }

  /** Keeps the requests for an object open until `release`. */
  hold(...names: string[]): void {
    for (const name of names) this.#held.set(name, () => undefined);
  }

  release(name: string): Promise<void> {
    const go = this.#held.get(name);
    this.#held.delete(name);
    go?.();
    return settled();
  }

  send = async ({ key }: DesiredObject, signal: AbortSignal): Promise<KubeObject> => {
    this.sent.push(key.name);
    this.running += 1;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    try {
      if (this.#held.has(key.name)) await this.#until(key.name, signal);
      await Promise.resolve();
      return this.#answerOf(key.name);
    } finally {
      this.running -= 1;
    }
  };

  clear = (object: DesiredObject): Promise<boolean> => {
    this.cleared.push(object.key.name);
    return Promise.resolve(this.cleared.length <= this.clearable);
  };

  #until(name: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#held.set(name, resolve);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  }

  #answerOf(name: string): KubeObject {
    const answers = this.#answers.get(name) ?? ["taken"];
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? "taken";
    if (answer instanceof Error) throw answer;
    const facts = { reason: "", message: "", causes: [], isStatus: true, request: "PATCH /" };
    if (typeof answer === "object") throw new ApiError({ status: 500, ...facts, ...answer });
    const leaving = answer === "going" ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
    const metadata = { name, uid: name, resourceVersion: "1", ...leaving };
    return { apiVersion: "v1", kind: "Any", metadata };
  }
}
