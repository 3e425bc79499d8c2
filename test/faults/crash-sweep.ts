import { setTimeout as delay } from "node:timers/promises";

import { change, create, gone, read, remove } from "../e2e/installation.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import type { SpokeDump } from "../support/spoke-dump.ts";
import { blindDeletes } from "./blind-deletes.ts";
import { cleanUp, contentsOf } from "./clean-up.ts";
import { startController, type FaultBench, type Target } from "./fault-bench.ts";
import { differencesFrom, releaseComponent, steadyDump } from "./final-state.ts";
import type { KillPoint, Write } from "./write-log.ts";

/** The three parts of an installation's life that are swept. */
export const phases = ["install", "upgrade", "uninstall"] as const;
export type Phase = (typeof phases)[number];

/** Where in a phase the controller dies, and how. */
export interface CrashPoint extends Pick<KillPoint, "write" | "side"> {
  readonly signal: "SIGKILL" | "SIGTERM";
}

/** One life of an installation, with at most one death in each phase. */
export type Life = Partial<Record<Phase, CrashPoint>>;

export interface CrashResult {
  readonly phase: Phase;
  readonly point: CrashPoint;
  /** The write at which it died; undefined when the phase had fewer writes this time. */
  readonly struck: Write | undefined;
  /** From the start of the next controller to the final state; 0 when it did not die. */
  readonly convergeMs: number;
  /** How the final state differs from the undisturbed one, or why there is none; empty: survived. */
  readonly differences: readonly string[];
}

/** An undisturbed life: how many writes each phase has, and what it leads to. */
export interface Reference {
  readonly writes: Readonly<Record<Phase, number>>;
  readonly states: Readonly<Record<Phase, SpokeDump>>;
  readonly contentsBefore: ReadonlySet<string>;
}

const firstVersion = "1.22";
const secondVersion = "1.23";
// The last Events and the record on the anchor come after the status that says Ready.
const lateWritesMs = 700;
const settleLimitMs = 120_000;

/** Installs, upgrades and uninstalls once without a fault and writes down what that took and made. */
export async function undisturbed(bench: FaultBench, target: Target): Promise<Reference> {
  const contentsBefore = await contentsOf(target.spoke);
  await using stage = await Stage.open(bench, target);
  const writes = { install: 0, upgrade: 0, uninstall: 0 };
  const states: Record<Phase, SpokeDump> = { install: {}, upgrade: {}, uninstall: {} };
  for (const phase of phases) {
    await stage.run(phase, undefined);
    writes[phase] = bench.log.writes.length;
    states[phase] = await steadyDump(target);
  }
  await cleanUp(target.spoke, contentsBefore);
  return { writes, states, contentsBefore };
}

/** Lives a life with deaths and compares each phase with the undisturbed one. Leaves the spoke as it was before. */
export async function live(
  bench: FaultBench,
  { target, reference }: { readonly target: Target; readonly reference: Reference },
  life: Life,
): Promise<readonly CrashResult[]> {
  const results: CrashResult[] = [];
  let current: Phase = "install";
  try {
    await using stage = await Stage.open(bench, target);
    for (const phase of phases) {
      current = phase;
      const point = life[phase];
      const run = await stage.run(phase, point);
      const differences = [
        ...(await differencesFrom(target, reference.states[phase])),
        ...blindDeletes(bench.log),
      ];
      if (point !== undefined) results.push({ phase, point, ...run, differences });
    }
  } catch (error) {
    // Also a phase without a death, which then fell ill from an earlier one.
    const point = life[current] ?? { write: 0, side: "before", signal: "SIGKILL" };
    const { struck } = bench.log;
    const differences = [textOf(error)];
    results.push({ phase: current, point, struck, convergeMs: 0, differences });
    await releaseComponent(bench, target);
  }
  await cleanUp(target.spoke, reference.contentsBefore);
  return results;
}

/** One life's controller and what it is asked to do. */
class Stage implements AsyncDisposable {
  readonly #bench: FaultBench;
  readonly #target: Target;
  #controller: ControllerProcess;

  private constructor(bench: FaultBench, target: Target, controller: ControllerProcess) {
    this.#bench = bench;
    this.#target = target;
    this.#controller = controller;
  }

  static async open(bench: FaultBench, target: Target): Promise<Stage> {
    bench.log.restart();
    return new Stage(bench, target, await startController(bench));
  }

  async run(
    phase: Phase,
    point: CrashPoint | undefined,
  ): Promise<Pick<CrashResult, "struck" | "convergeMs">> {
    const { log } = this.#bench;
    const controller = this.#controller;
    log.restart(
      point === undefined
        ? undefined
        : {
            ...point,
            isGentle: point.signal === "SIGTERM",
            kill: () => controller.signal(point.signal),
          },
    );
    await this.#begin(phase);
    const settled = new AbortController();
    const end = await Promise.race([
      controller.exited.then(() => "dead" as const),
      this.#settled(phase, settled.signal).then(() => "settled" as const),
    ]);
    if (end === "settled") await Promise.race([controller.exited, delay(lateWritesMs)]);
    settled.abort();
    const { struck } = log;
    if (struck === undefined) return { struck, convergeMs: 0 };
    await controller.exited;
    log.revive();
    const startedAt = performance.now();
    this.#controller = await startController(this.#bench);
    await this.#settled(phase, AbortSignal.timeout(settleLimitMs * 2));
    return { struck, convergeMs: performance.now() - startedAt };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controller[Symbol.asyncDispose]();
  }

  async #begin(phase: Phase): Promise<void> {
    const { hub } = this.#bench;
    const { kind, profile } = this.#target;
    if (phase === "install") {
      await create(hub, { kind, on: profile, spec: { version: firstVersion } });
    } else if (phase === "upgrade") await change(hub, kind, { version: secondVersion });
    else await remove(hub, kind);
  }

  async #settled(phase: Phase, signal: AbortSignal): Promise<void> {
    const { hub } = this.#bench;
    const { kind } = this.#target;
    if (phase === "uninstall") return gone(hub, kind, settleLimitMs);
    const version = phase === "install" ? firstVersion : secondVersion;
    let status: unknown;
    const isSettled = async (): Promise<boolean> => {
      if (signal.aborted) return true;
      const component = await read(hub, kind);
      status = valueAt(component, "status");
      return (
        valueAt(status, "observedGeneration") === component?.metadata.generation &&
        String(valueAt(status, "version")).startsWith(version) &&
        conditionOf(component, "Ready")?.status === "True"
      );
    };
    try {
      await waitFor(`${kind} ${version} to be Ready`, isSettled, { timeoutMs: settleLimitMs });
    } catch (error) {
      throw new Error(`${textOf(error)}; its status was ${JSON.stringify(status)}`, {
        cause: error,
      });
    }
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
