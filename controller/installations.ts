import { logFailure } from "../access/log.ts";
import type { Component } from "../api/component.ts";
import { componentId, targetId } from "../api/keys.ts";
import type { Log } from "./log.ts";
import { Installation } from "./reconcile/installation.ts";

/** What this process remembers of each component that it serves, by `componentId`. */
export class Installations implements AsyncDisposable {
  readonly #log: Pick<Log, "warn" | "error">;
  readonly #byKey = new Map<string, Installation>();
  /** Installations that are being closed, with their targets. */
  readonly #closing = new Map<Promise<void>, string>();

  constructor(log: Pick<Log, "warn" | "error">) {
    this.#log = log;
  }

  /** The installation of a component. A component that was deleted and created again gets a new one. */
  of(component: Component): Installation {
    const key = componentId(component);
    const current = this.#byKey.get(key);
    if (current?.uid === component.metadata.uid) return current;
    if (current !== undefined) this.#close(current, component);
    const installation = new Installation(component.metadata.uid);
    this.#byKey.set(key, installation);
    return installation;
  }

  get(key: string): Installation | undefined {
    return this.#byKey.get(key);
  }

  [Symbol.iterator](): Iterator<readonly [string, Installation]> {
    return this.#byKey.entries();
  }

  /** Ends the work for a component that is gone, or that another process serves. */
  forget(component: Component): void {
    const key = componentId(component);
    const installation = this.#byKey.get(key);
    if (installation?.uid !== component.metadata.uid) return;
    this.#byKey.delete(key);
    this.#close(installation, component);
  }

  /** Resolves when nothing is written any more for what was forgotten, on the targets that are chosen by `targetId`. */
  async closed(isChosen: (target: string) => boolean): Promise<void> {
    const chosen = [...this.#closing].filter(([, target]) => isChosen(target));
    await Promise.all(chosen.map(([closing]) => closing));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const installations = [...this.#byKey.values()];
    this.#byKey.clear();
    await Promise.all(installations.map((installation) => installation[Symbol.asyncDispose]()));
  }

  #close(installation: Installation, component: Component): void {
    const closing = installation
      .stop()
      .catch((err: unknown) => {
        const { uid } = installation;
        logFailure(this.#log, "warn", { uid, err }, "Could not close the watches of a target");
      })
      .finally(() => this.#closing.delete(closing));
    this.#closing.set(closing, targetId(component));
  }
}
