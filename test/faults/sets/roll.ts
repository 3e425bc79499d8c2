import { setTimeout as delay } from "node:timers/promises";

import { operatorApiVersion } from "../../../api/component.ts";
import { setKey, setOf, versionTemplate } from "../../e2e/set-scene.ts";
import type { AuditedRequest } from "../../fleet/audit-log.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { ControllerProcess, startControllerProcess } from "../../support/controller-process.ts";
import type { SpokeDump } from "../../support/spoke-dump.ts";
import type { CrashPoint, Death } from "../crash-sweep.ts";
import { differencesFrom, steadyDump } from "../final-state.ts";
import type { Write } from "../write-log.ts";
import { brokenRules } from "./rollout-rules.ts";
import type { SetBench } from "./set-bench.ts";
import { setStateOf } from "./set-state.ts";
import { versionsOf } from "./versions.ts";

/** What came of one rollout from the first version to the second. */
export interface Rolled {
  readonly deaths: readonly Death[];
  /** From the start of the controller that followed the last death to the end; 0 when none died. */
  readonly convergeMs: number;
  readonly state: SpokeDump;
  /** How the end differs from the wanted one. */
  readonly differences: readonly string[];
  /** What it did that a rollout must not do at any time. */
  readonly broken: readonly string[];
  /** What controllers wrote to the hub about the set since its change, by the audit log. */
  readonly writes: readonly AuditedRequest[];
  /** From the change of the set to the first stamp. */
  readonly firstStampMs: number;
}

const name = "prod";
const key = setKey(name);
const collection = `/apis/${operatorApiVersion}/namespaces/${key.namespace}/knativeeventings`;
const rollout = {
  progressDeadline: "60s",
  stages: [
    { name: "canary", selector: { matchLabels: { ring: "0" } }, maxConcurrency: 1 },
    { name: "rest", selector: {}, maxConcurrency: 1 },
  ],
};
// The status of a set is written once a second at most.
const lateWritesMs = 1_500;
const limit = { timeoutMs: 120_000 };
const writing = ["create", "update", "patch", "delete"];

/** Whether a write is one of a set's: finalizer and status, revisions, and the stamps of components. */
function isOfSet({ path }: Pick<Write, "path">): boolean {
  return /\/apis\/knfleet\.dev\/|\/controllerrevisions|[?&]fieldManager=knfleet-set\b/.test(path);
}

/** Stamps are the only writes in a rollout that name this field manager. */
export function isStamp({ uri }: Pick<AuditedRequest, "uri">): boolean {
  return /[?&]fieldManager=knfleet-set\b/.test(uri);
}

/**
 * Installs a set, changes its version, and waits until that is rolled out; removes the set again. A controller dies at the first point, the one that follows at the
 * next point, and so on, until one is not reached. Points count the writes of one controller that are about the set. Without a wanted end it has to stand still.
 */
export async function roll(
  bench: SetBench,
  points: readonly CrashPoint[],
  wanted?: SpokeDump,
): Promise<Rolled> {
  const { fleet, log } = bench;
  const { admin } = fleet.hub;
  await using leader = new Leader(bench);
  log.restart();
  await leader.start();
  await admin.create(setOf(name, { rollout }));
  await settled(bench, new AbortController().signal);
  await delay(lateWritesMs);

  const before = await admin.request("GET", collection);
  const since = new Date();
  const { deaths, convergeMs } = await leader.dieAt(points, () =>
    admin.patch(key, { spec: versionTemplate("1.23") }),
  );
  const look = () => setStateOf(fleet, name);
  const differences = wanted === undefined ? [] : await differencesFrom(look, wanted);
  const state = await steadyDump(look);
  const versions = await versionsOf(admin, collection, before);
  const all = await fleet.hub.auditLog.requests({ userAgent: "knfleet-controller", since });
  const writes = all
    .filter(({ verb, code }) => writing.includes(verb) && code < 300)
    .filter(({ uri }) => isOfSet({ path: uri }));
  const revision = String(valueAt(state, "set", "status", "updateRevision"));
  const limits = { revision, version: "1.23.0", stages: rollout.stages };
  const broken = [...brokenRules(versions, limits), ...repeatedStamps(writes)];
  const firstStampAt = writes.find(isStamp)?.receivedAt ?? since;
  const firstStampMs = firstStampAt.getTime() - since.getTime();
  return { deaths, convergeMs, state, differences, broken, writes, firstStampMs };
}

/** A stamp that changes nothing makes no new version of its component, and is one too many all the same. */
function repeatedStamps(writes: readonly AuditedRequest[]): readonly string[] {
  const stamps = Map.groupBy(writes.filter(isStamp), (one) => one.name);
  return [...stamps].flatMap(([child, own]) =>
    own.length > 1 ? [`${child} was applied ${own.length} times`] : [],
  );
}

/** The controller that rolls the set out now. */
class Leader implements AsyncDisposable {
  readonly #bench: SetBench;
  #controller: ControllerProcess | undefined;

  constructor(bench: SetBench) {
    this.#bench = bench;
  }

  async start(): Promise<ControllerProcess> {
    this.#controller ??= await startControllerProcess(this.#bench.controller);
    return this.#controller;
  }

  /** Starts the next controller and waits for nothing: it may die before it is ready. */
  #follow(): void {
    this.#controller = new ControllerProcess(this.#bench.controller);
  }

  async dieAt(
    points: readonly CrashPoint[],
    begin: () => Promise<unknown>,
  ): Promise<Pick<Rolled, "deaths" | "convergeMs">> {
    const { log } = this.#bench;
    const deaths: Death[] = [];
    let followedAt: number | undefined;
    for (const point of [...points, undefined]) {
      if (point === undefined) log.restart();
      else this.#arm(point);
      if (deaths.length === 0) await begin();
      else {
        followedAt = performance.now();
        this.#follow();
      }
      const struck = await this.#end();
      if (point !== undefined) deaths.push({ point, struck });
      if (struck === undefined) break;
    }
    log.restart();
    return { deaths, convergeMs: followedAt === undefined ? 0 : performance.now() - followedAt };
  }

  /** Removes the set. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { admin } = this.#bench.fleet.hub;
    this.#bench.log.restart();
    await using _controller = await this.start();
    await admin.remove(key);
    await waitFor("the set to be gone", async () => (await admin.get(key)) === undefined, limit);
  }

  #arm(point: CrashPoint): void {
    const kill = (): void => this.#controller?.signal("SIGKILL");
    this.#bench.log.restart({ ...point, isMeant: isOfSet, kill });
  }

  /** The write at which the controller died; undefined when the rollout came to its end before. */
  async #end(): Promise<Write | undefined> {
    const { log, hubProxy } = this.#bench;
    const { exited } = await this.start();
    const stop = new AbortController();
    const end = settled(this.#bench, stop.signal).then(() => delay(lateWritesMs));
    try {
      await Promise.race([exited, end]);
    } finally {
      stop.abort();
    }
    if (log.struck === undefined) return undefined;
    const { struck } = log;
    await exited;
    this.#controller = undefined;
    // Nothing that is still on its way from the dead one counts as the next one's.
    hubProxy.cut();
    return struck;
  }
}

/** Waits until the set is complete for the spec that it has now. */
async function settled({ fleet }: SetBench, signal: AbortSignal): Promise<void> {
  let status: unknown;
  const isSettled = async (): Promise<boolean> => {
    if (signal.aborted) return true;
    const set = await fleet.hub.admin.get(key);
    status = set?.["status"];
    return (
      valueAt(status, "observedGeneration") === set?.metadata.generation &&
      valueAt(status, "rollout", "phase") === "Complete"
    );
  };
  try {
    await waitFor("the rollout", isSettled, limit);
  } catch (cause) {
    throw new Error(`The rollout did not end: ${JSON.stringify(status)}`, { cause });
  }
}
