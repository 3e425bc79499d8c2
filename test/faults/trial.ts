import { setTimeout as delay } from "node:timers/promises";

import { create, gone, read, remove } from "../e2e/installation.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { ControllerProcess, type ControllerProcessOptions } from "../support/controller-process.ts";
import type { SpokeDump } from "../support/spoke-dump.ts";
import { blindDeletes } from "./blind-deletes.ts";
import { cleanUp, contentsOf } from "./clean-up.ts";
import { lastWordsOf, startController, type FaultBench, type Target } from "./fault-bench.ts";
import {
  differencesFrom,
  type Leave,
  releaseComponent,
  spokeOf,
  steadyDump,
} from "./final-state.ts";

/** Of the controller's container in the chart. */
export const memoryLimitBytes = 512 * 1024 * 1024;

/** What an undisturbed installation of Serving leads to, and its removal. */
export interface Expected {
  readonly installed: SpokeDump;
  readonly removed: SpokeDump;
  /** What the spoke held before. */
  readonly contentsBefore: ReadonlySet<string>;
}

/** One fault, what it is done to, and what it must come to. */
export interface FaultCase extends Leave {
  /** Of the fault table of the design, `C6`, or of its checklist, `T-50`. */
  readonly id: string;
  readonly fault: string;
  /** Runs in `npm test` too. */
  readonly isQuick: boolean;
  readonly controller?: (bench: FaultBench) => Promise<ControllerProcessOptions>;
  /** The fault may end the controller, which is then started again, as the kubelet does it; else an end is not survived. */
  readonly mayEnd?: true;
  /** Meets a controller that protects its anchors, also where the others do not. */
  readonly isGuarded?: true;
  /** Longest time from the end of the harm until all is well, in ms, where the fault table names one. For `npm run faults`, no test compares it. */
  readonly convergesWithinMs?: number;
  /** Creates Serving, does harm, and resolves at the moment the harm is over. Throws when something was not as it has to be. */
  readonly harm: (trial: Trial) => Promise<void>;
  /** Looked at when everything is well again. */
  readonly afterwards?: (trial: Trial) => Promise<void>;
}

/** A controller that is started again when it ends, as the kubelet does it, and Serving on `spoke-1`. */
export class Trial implements AsyncDisposable {
  readonly bench: FaultBench;
  readonly target: Target;
  readonly notes: string[] = [];
  /** Figures that are over what the fault table allows. */
  readonly late: string[] = [];
  readonly #options: ControllerProcessOptions;
  #controller: ControllerProcess;
  #isOver = false;
  #watching: Promise<void>;
  restarts = 0;
  /** What the last controller said that ended by itself. */
  #obituary = "";

  private constructor(
    bench: FaultBench,
    options: ControllerProcessOptions,
    controller: ControllerProcess,
  ) {
    this.bench = bench;
    this.target = bench.serving;
    this.#options = options;
    this.#controller = controller;
    this.#watching = this.#keepRunning();
  }

  static async open(
    bench: FaultBench,
    one: Pick<FaultCase, "controller" | "isGuarded"> = {},
  ): Promise<Trial> {
    bench.log.restart();
    bench.hubProxy.resetCounts();
    bench.serving.proxy.resetCounts();
    const options = (await one.controller?.(bench)) ?? {};
    const isGuarded = bench.isGuarded || one.isGuarded === true;
    const own = isGuarded ? options : unguarded(bench, options);
    return new Trial(bench, own, await startController(bench, own));
  }

  /** Another replica, beside the one that is kept running. */
  replica(options: ControllerProcessOptions): Promise<ControllerProcess> {
    return startController(
      this.bench,
      this.bench.isGuarded ? options : unguarded(this.bench, options),
    );
  }

  get controller(): ControllerProcess {
    return this.#controller;
  }

  /** Told in the last column of the table. */
  note(text: string): void {
    this.notes.push(text);
  }

  /** A time that the fault table limits: told as a note, and as one that is late where it is longer. */
  figure(what: string, ms: number, limitMs: number): void {
    const text = `${what} ${Math.round(ms)} ms, of ${Math.round(limitMs)} ms`;
    if (ms > limitMs) this.late.push(text);
    else this.notes.push(text);
  }

  /** Throws when a controller ended by itself. */
  assertAlive(): void {
    if (this.restarts > 0) throw new Error(`The controller ended with ${this.#obituary}`);
  }

  /** The end of the controller's log, for a trial that failed. */
  lastWords(): readonly string[] {
    return lastWordsOf(this.#controller);
  }

  create(): Promise<unknown> {
    return create(this.bench.hub, { kind: "KnativeServing", on: this.target.profile });
  }

  /** Waits until so many writes reached the spoke. */
  async writesToSpoke(count: number): Promise<void> {
    const { log } = this.bench;
    const { name } = this.target.spoke;
    await waitFor(
      `${count} writes to ${name}`,
      () => log.writes.filter(({ cluster }) => cluster === name).length >= count,
      { timeoutMs: 60_000 },
    );
  }

  async ready(timeoutMs = 120_000): Promise<void> {
    const { hub } = this.bench;
    let status: unknown;
    const isReady = async (): Promise<boolean> => {
      const component = await read(hub, "KnativeServing");
      status = valueAt(component, "status");
      return (
        valueAt(status, "observedGeneration") === component?.metadata.generation &&
        conditionOf(component, "Ready")?.status === "True"
      );
    };
    try {
      await waitFor("KnativeServing to be Ready", isReady, { timeoutMs });
    } catch (error) {
      const why = `not Ready after ${timeoutMs / 1000} s; its status: ${JSON.stringify(status)}`;
      throw new Error(why, { cause: error });
    }
  }

  /** Creates Serving and waits until all is well, before any harm is done. */
  async installed(): Promise<void> {
    await this.create();
    await this.ready();
  }

  /** Deletes a Deployment behind the controller's back; it has to come back. */
  async deleteDeployment(name = "activator"): Promise<void> {
    const key = { apiVersion: "apps/v1", kind: "Deployment", namespace: "knative-serving", name };
    await this.target.spoke.admin.remove(key);
  }

  /** Ends the controller; none is started until `resume`. */
  async halt(): Promise<void> {
    this.#isOver = true;
    await this.#controller.kill();
    await this.#watching;
  }

  async resume(): Promise<void> {
    this.#controller = await startController(this.bench, this.#options);
    this.#isOver = false;
    this.#watching = this.#keepRunning();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#controller[Symbol.asyncDispose]();
    await this.#watching;
  }

  async #keepRunning(): Promise<void> {
    for (;;) {
      const { code, signal } = await this.#controller.exited;
      if (this.#over()) return;
      const said = this.#controller.stderr.trim().split("\n").slice(-3);
      this.#obituary = `${signal ?? `code ${code}`}: ${[...said, ...this.lastWords()].join(" ")}`;
      await delay(500);
      if (this.#over()) return;
      // Not waited for: the hub may be away, which it says in /readyz.
      this.#controller = new ControllerProcess({ ...this.bench.controller, ...this.#options });
      this.restarts += 1;
    }
  }

  #over(): boolean {
    return this.#isOver;
  }
}

function unguarded(
  { controller }: FaultBench,
  options: ControllerProcessOptions,
): ControllerProcessOptions {
  const { flags = controller.flags ?? [] } = options;
  // The guard's own requests would be counted and refused too; the crash sweep has it on, and its own tests harm it.
  return { ...options, flags: [...flags, "--anchor-protection", "None"] };
}

/** What came of a fault. */
export interface FaultResult {
  readonly id: string;
  readonly fault: string;
  readonly survived: boolean;
  /** Figures that are over what the fault table allows. */
  readonly late: readonly string[];
  /** From the end of the harm until everything was as without it. */
  readonly convergeMs: number | undefined;
  readonly notes: readonly string[];
}

/** Does the harm, waits until all is as without it, and removes everything again. */
export async function tryFault(
  bench: FaultBench,
  one: FaultCase,
  usual: Expected,
): Promise<FaultResult> {
  const { id, fault } = one;
  const isUnusual = one.isGuarded === true && !bench.isGuarded;
  const expected = isUnusual ? await expectedOf(bench, one) : usual;
  const notes: string[] = [];
  const late: string[] = [];
  let convergeMs: number | undefined;
  try {
    await using trial = await Trial.open(bench, one);
    try {
      await one.harm(trial);
      const healedAt = performance.now();
      await trial.ready();
      complain(await differencesFrom(spokeOf(trial.target), expected.installed, one));
      convergeMs = performance.now() - healedAt;
      const { convergesWithinMs: limitMs } = one;
      if (limitMs !== undefined) trial.figure("converged in", convergeMs, limitMs);
      await one.afterwards?.(trial);
      await remove(bench.hub, "KnativeServing");
      await gone(bench.hub, "KnativeServing", 120_000);
      complain(await differencesFrom(spokeOf(trial.target), expected.removed));
      complain(blindDeletes(bench.log));
      if (one.mayEnd !== true) trial.assertAlive();
    } catch (error) {
      notes.push(...trial.lastWords());
      throw error;
    } finally {
      notes.push(...trial.notes);
      late.push(...trial.late);
    }
    return { id, fault, survived: true, late, convergeMs, notes };
  } catch (error) {
    notes.push(textOf(error));
    // What is left may harm the next ones, which will say so.
    await heal(bench, expected).catch((reason) => notes.push(`Not healed: ${textOf(reason)}`));
    return { id, fault, survived: false, late, convergeMs, notes };
  }
}

/** Installs and removes Serving once without a fault. */
export async function expectedOf(
  bench: FaultBench,
  like: Pick<FaultCase, "isGuarded"> = {},
): Promise<Expected> {
  const contentsBefore = await contentsOf(bench.serving.spoke);
  await using trial = await Trial.open(bench, like.isGuarded === true ? { isGuarded: true } : {});
  try {
    await trial.installed();
    const installed = await steadyDump(spokeOf(trial.target));
    await remove(bench.hub, "KnativeServing");
    await gone(bench.hub, "KnativeServing", 120_000);
    return { installed, removed: await steadyDump(spokeOf(trial.target)), contentsBefore };
  } catch (error) {
    throw new Error([textOf(error), ...trial.lastWords()].join("\n"), { cause: error });
  }
}

/** After a failure: the next fault is to meet what the first one met. */
async function heal(bench: FaultBench, { contentsBefore }: Expected): Promise<void> {
  const { hub, hubProxy, serving, eventing } = bench;
  for (const cluster of [hub, serving.spoke, eventing.spoke]) {
    cluster.resume();
    await cluster.start();
  }
  for (const { line } of [hubProxy, serving.proxy, eventing.proxy]) {
    await line.setMode("open");
    line.setRtt(0);
  }
  for (const target of [serving, eventing]) await releaseComponent(bench, target);
  await cleanUp(serving.spoke, contentsBefore);
}

function complain(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(problems.slice(0, 5).join("; "));
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
