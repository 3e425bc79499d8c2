import type { Clock } from "../queue/clock.ts";
import { olderTwinOf } from "./duplicate.ts";
import { claimantsOf, refusalOf } from "./permission.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { openReport } from "./report.ts";
import type { StatusClient } from "./status-report.ts";

// The work itself tells at its beginning; this is for components that have to wait for a worker.
const delayMs = 150;

/** Says on a new component that it was seen, unless work on it begins before. */
export class Greeting {
  readonly #timer: Disposable;
  #writing: Promise<void> = Promise.resolve();

  /** `write` must not reject. */
  constructor(clock: Clock, write: () => Promise<void>) {
    this.#timer = clock.after(delayMs, () => {
      this.#writing = write();
    });
  }

  /** Says nothing any more; resolves when what is being said is said. */
  stop(): Promise<void> {
    this.#timer[Symbol.dispose]();
    return this.#writing;
  }
}

/** Writes the first conditions of a component. A duplicate, and one that may not use its cluster, is not taken up. Never rejects: the work tells the same again. */
export async function greet(
  { component, installation }: Subject,
  deps: Pick<ReconcileDeps, "clock" | "events" | "components" | "references"> & {
    readonly hub: StatusClient;
  },
  signal: AbortSignal,
): Promise<void> {
  if (refusalOf(component, deps) !== undefined) return;
  if (olderTwinOf(component, claimantsOf(deps)) !== undefined) return;
  const wrote = installation.writing();
  const report = openReport({ component, installation }, deps, signal);
  const steps = { eligible: false, resolved: false };
  try {
    await report.finish({ kind: "working", steps }, signal);
  } catch {
    return;
  }
  wrote(report.latest);
}
