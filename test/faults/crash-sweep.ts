import { setTimeout as delay } from "node:timers/promises";

import { change, create, read, remove } from "../e2e/installation.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { ControllerProcess } from "../support/controller-process.ts";
import type { SpokeDump } from "../support/spoke-dump.ts";
import { blindDeletes } from "./blind-deletes.ts";
import { cleanUp, contentsOf } from "./clean-up.ts";
import { lastWordsOf, startController, type FaultBench, type Target } from "./fault-bench.ts";
import {
  differencesFrom,
  releaseComponent,
  spokeAndComponentOf,
  steadyDump,
} from "./final-state.ts";
import type { KillPoint, Write } from "./write-log.ts";

/** The three parts of an installation's life that are swept. */
export const phases = ["install", "upgrade", "uninstall"] as const;
export type Phase = (typeof phases)[number];

/** Where in a phase the controller dies, and how. Writes count from the start of the process that dies. */
export interface CrashPoint extends Pick<KillPoint, "write" | "side"> {
  readonly signal: "SIGKILL" | "SIGTERM";
}

/**
 * One life of an installation: in each phase one controller after the other dies, each at a point of its own. A controller that
 * follows on another writes everything again, so the later ones meet at their points what the first would have left there.
 */
export type Life = Partial<Record<Phase, readonly CrashPoint[]>>;

export interface Death {
  readonly point: CrashPoint;
  /** The write at which it died; undefined when the phase had fewer writes this time. */
  readonly struck: Write | undefined;
}

/** What came of the deaths in one phase of a life. */
export interface CrashResult {
  readonly phase: Phase;
  readonly deaths: readonly Death[];
  /** From the start of the controller that followed the last death to the final state; 0 when none died. */
  readonly convergeMs: number;
  /** How the final state differs from the undisturbed one, or why there is none; empty: survived. */
  readonly differences: readonly string[];
  /** The end of the controller's log, when it did not survive. */
  readonly lastWords?: readonly string[];
  /** The phases of the same life before it, whose deaths may be why. */
  readonly earlier?: readonly CrashResult[];
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
  const look = spokeAndComponentOf(bench, target);
  await using stage = await Stage.open(bench, target);
  const writes = { install: 0, upgrade: 0, uninstall: 0 };
  const states: Record<Phase, SpokeDump> = { install: {}, upgrade: {}, uninstall: {} };
  for (const phase of phases) {
    await stage.run(phase, []);
    writes[phase] = bench.log.writes.length;
    states[phase] = await steadyDump(look);
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
  const look = spokeAndComponentOf(bench, target);
  const results: CrashResult[] = [];
  let current: Phase = "install";
  let stage: Stage | undefined;
  try {
    stage = await Stage.open(bench, target);
    for (const phase of phases) {
      current = phase;
      const convergeMs = await stage.run(phase, life[phase] ?? []);
      const differences = [
        ...(await differencesFrom(look, reference.states[phase])),
        ...stage.blindDeletes(),
      ];
      const lastWords = differences.length === 0 ? [] : stage.lastWords();
      results.push({ phase, deaths: stage.deaths, convergeMs, differences, lastWords });
    }
  } catch (error) {
    // Also in a phase without a death, which then fell ill from an earlier one.
    const deaths = stage?.deaths ?? [];
    const lastWords = stage?.lastWords() ?? [];
    const differences = [textOf(error)];
    results.push({ phase: current, deaths, convergeMs: 0, differences, lastWords });
    bench.log.restart();
    await releaseComponent(bench, target);
  } finally {
    await stage?.[Symbol.asyncDispose]();
  }
  await cleanUp(target.spoke, reference.contentsBefore);
  return results.map((one, index) => ({ ...one, earlier: results.slice(0, index) }));
}

/** One life's controller and what it is asked to do. */
class Stage implements AsyncDisposable {
  readonly #bench: FaultBench;
  readonly #target: Target;
  #controller: ControllerProcess;
  #deaths: Death[] = [];
  #blind: string[] = [];

  private constructor(bench: FaultBench, target: Target, controller: ControllerProcess) {
    this.#bench = bench;
    this.#target = target;
    this.#controller = controller;
  }

  static async open(bench: FaultBench, target: Target): Promise<Stage> {
    bench.log.restart();
    return new Stage(bench, target, await startController(bench));
  }

  /** Of the phase that ran last. */
  get deaths(): readonly Death[] {
    return this.#deaths;
  }

  /** Of the phase that ran last, all controllers together. */
  blindDeletes(): readonly string[] {
    return [...this.#blind, ...blindDeletes(this.#bench.log)];
  }

  /** The end of the controller's log. */
  lastWords(): readonly string[] {
    return lastWordsOf(this.#controller);
  }

  /** Runs a phase to its end, with a death at each of the points that is reached; returns the time from the last death to the end. */
  async run(phase: Phase, points: readonly CrashPoint[]): Promise<number> {
    const { log } = this.#bench;
    this.#deaths = [];
    this.#blind = [];
    let followedAt: number | undefined;
    for (const [index, point] of points.entries()) {
      this.#arm(point);
      if (index === 0) await this.#begin(phase);
      else followedAt = this.#follow();
      const struck = await this.#death(phase);
      this.#deaths.push({ point, struck });
      if (struck === undefined) {
        // Disarmed: a late write that still comes to the number must kill nobody in the next phase.
        this.#blind.push(...blindDeletes(log));
        log.restart();
        const unreached = points.slice(index + 1);
        this.#deaths.push(...unreached.map((later) => ({ point: later, struck })));
        return followedAt === undefined ? 0 : performance.now() - followedAt;
      }
      await this.#controller.exited;
      // Nothing that is still on its way from the dead one counts as the next one's.
      for (const proxy of [this.#bench.hubProxy, this.#target.proxy]) proxy.cut();
      this.#blind.push(...blindDeletes(log));
    }
    log.restart();
    if (points.length === 0) await this.#begin(phase);
    else followedAt = this.#follow();
    await this.#death(phase);
    return followedAt === undefined ? 0 : performance.now() - followedAt;
  }

  #arm(point: CrashPoint): void {
    this.#bench.log.restart({
      ...point,
      isGentle: point.signal === "SIGTERM",
      kill: () => this.#controller.signal(point.signal),
    });
  }

  /** The write at which the controller died; undefined when the phase came to its end before. */
  async #death(phase: Phase): Promise<Write | undefined> {
    const settled = new AbortController();
    const { exited } = this.#controller;
    try {
      const end = await Promise.race([exited, this.#settled(phase, settled.signal)]);
      if (end === undefined) await Promise.race([exited, delay(lateWritesMs)]);
      const { struck } = this.#bench.log;
      if (end !== undefined && struck === undefined)
        throw new Error(`The controller ended by itself: ${JSON.stringify(end)}`);
      return struck;
    } finally {
      settled.abort();
    }
  }

  /** Starts the next controller and waits for nothing: it may die before it is ready. */
  #follow(): number {
    const followedAt = performance.now();
    this.#controller = new ControllerProcess(this.#bench.controller);
    return followedAt;
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
    const version = phase === "install" ? firstVersion : secondVersion;
    let status: unknown;
    const isSettled = async (): Promise<boolean> => {
      if (signal.aborted) return true;
      const component = await read(hub, kind);
      status = valueAt(component, "status");
      if (phase === "uninstall") return component === undefined;
      return (
        valueAt(status, "observedGeneration") === component?.metadata.generation &&
        String(valueAt(status, "version")).startsWith(version) &&
        conditionOf(component, "Ready")?.status === "True" &&
        // The proof may end later.
        conditionOf(component, "AnchorProtected")?.reason !== "Probing"
      );
    };
    try {
      await waitFor(`the ${phase} of ${kind}`, isSettled, { timeoutMs: settleLimitMs });
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
