import { type Clock, delay } from "../../../access/time/clock.ts";
// oxlint-disable max-params -- the methods of the client take options and, last, the signal
import { leaderLease, type Part } from "../../../api/shards.ts";
import { lead, type LeaderOptions, type Leadership } from "../../../controller/leader/leader.ts";
import { LeaseList } from "../../../controller/leader/lease-list.ts";
import { defaultLeaseTimes } from "../../../controller/leader/lease.ts";
import { joinReplicas, type SharingOptions } from "../../../controller/leader/shards.ts";
import { type FakeClock, settled } from "../../support/fake-clock.ts";
import type { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

const namespace = "knfleet-system";

/** The clock of a process that can be stopped: time goes on meanwhile, but its timers fire when it goes on. */
class ProcessClock implements Clock {
  readonly #clock: FakeClock;
  #stopped: PromiseWithResolvers<void> | undefined;
  /** Callbacks of timers that ended while the process was stopped. */
  readonly #late = new Set<() => void>();

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  date(): Date {
    return this.#clock.date();
  }

  random(): number {
    return this.#clock.random();
  }

  after(ms: number, callback: () => void): Disposable {
    const timer = this.#clock.after(ms, () => {
      if (this.#stopped === undefined) callback();
      else this.#late.add(callback);
    });
    return {
      [Symbol.dispose]: () => {
        this.#late.delete(callback);
        timer[Symbol.dispose]();
      },
    };
  }

  stop(): void {
    this.#stopped ??= Promise.withResolvers();
  }

  continue(): void {
    this.#stopped?.resolve();
    this.#stopped = undefined;
    for (const callback of this.#late) {
      this.#late.delete(callback);
      callback();
    }
  }

  /** Resolves when the process runs. */
  async running(): Promise<void> {
    while (this.#stopped !== undefined) await this.#stopped.promise;
  }
}

export interface ReplicaOptions {
  readonly shards: number;
  /** Time that the work of a part takes to begin and to end. */
  readonly workMs?: number;
  /** Time of each request on its way to the hub. */
  readonly requestMs?: () => number;
  /** Components have been served before, so that an absent Lease may have a holder. */
  readonly isServed?: boolean;
}

/** A process that takes part, as cmd/ wires it. It stays dead after it lost a Lease. */
export class Replica {
  readonly identity: string;
  readonly shards: number;
  /** What was begun and not ended. */
  readonly working = new Set<Part>();
  readonly log: string[] = [];
  readonly #clock: ProcessClock;
  readonly #hub: MemoryHub;
  readonly #stop = new AbortController();
  readonly #workMs: number;
  readonly #requestMs: () => number;
  readonly #isServed: boolean;
  #leadership: Leadership | undefined;
  #isCut = false;
  #isDead = false;
  readonly #ended: Promise<void>;

  constructor(
    identity: string,
    world: { readonly clock: FakeClock; readonly hub: MemoryHub },
    { shards, workMs = 0, requestMs = () => 0, isServed = false }: ReplicaOptions,
  ) {
    this.identity = identity;
    this.shards = shards;
    this.#clock = new ProcessClock(world.clock);
    this.#hub = world.hub;
    this.#workMs = workMs;
    this.#requestMs = requestMs;
    this.#isServed = isServed;
    this.#ended = this.#run().catch(() => undefined);
  }

  get isDead(): boolean {
    return this.#isDead || this.#leadership?.lost.aborted === true;
  }

  mayWrite(part: Part): boolean {
    return !this.#isDead && this.#leadership?.mayWrite(part) === true;
  }

  get held(): readonly Part[] {
    return [...Array(this.shards).keys(), "fleet" as const].filter((part) => this.mayWrite(part));
  }

  /** SIGSTOP. */
  stop(): void {
    this.#clock.stop();
  }

  /** SIGCONT. */
  continue(): void {
    this.#clock.continue();
  }

  /** The network to the hub is gone, or back. */
  cut(isCut: boolean): void {
    this.#isCut = isCut;
  }

  /** SIGKILL. */
  kill(): void {
    this.#isDead = true;
    this.#clock.stop();
  }

  /** SIGTERM: the work ends, then the Leases are released. */
  async terminate(): Promise<void> {
    this.#stop.abort(new DOMException("The controller stops", "AbortError"));
    await this.#ended;
    await this.#leadership?.[Symbol.asyncDispose]();
    this.#isDead = true;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const options = this.#options();
    const list = new LeaseList({ ...options, shards: this.shards });
    const doOthersWork = async (): Promise<boolean> => {
      await list.read(signal);
      return list.areOthersAtWork();
    };
    this.#leadership =
      this.shards === 1
        ? await lead({ ...options, name: leaderLease, doOthersWork }, signal)
        : await joinReplicas({ ...options, shards: this.shards, fleet: true }, signal);
    this.#leadership.lost.addEventListener("abort", () => void this.terminate(), { once: true });
    const work = {
      begin: async (parts: readonly Part[]): Promise<void> => {
        await delay(this.#clock, this.#workMs, signal);
        for (const part of parts) this.working.add(part);
        this.log.push(`begin ${parts.join(" ")}`);
      },
      end: async (part: Part): Promise<void> => {
        await delay(this.#clock, this.#workMs, signal);
        this.working.delete(part);
        this.log.push(`end ${part}, ${this.mayWrite(part) ? "held" : "not held"}`);
      },
    };
    if (this.#leadership.share === undefined) await work.begin([0, "fleet"]);
    else await this.#leadership.share(work, signal);
  }

  #options(): Omit<SharingOptions, "shards" | "fleet"> & Omit<LeaderOptions, "name"> {
    const hub = this.#hub;
    const travel = async (signal: AbortSignal): Promise<void> => {
      await this.#clock.running();
      if (this.#isCut) await delay(this.#clock, 1e9, signal);
      const ms = this.#requestMs();
      if (ms > 0) await delay(this.#clock, ms, signal);
    };
    const overNetwork =
      <Args extends readonly unknown[], T>(send: (...args: [...Args, AbortSignal]) => Promise<T>) =>
      async (...args: [...Args, AbortSignal]): Promise<T> => {
        const signal = args[args.length - 1];
        if (!(signal instanceof AbortSignal)) throw new Error("The signal comes last");
        await travel(signal);
        const answer = await send(...args);
        await travel(signal);
        return answer;
      };
    const client: SharingOptions["client"] = {
      get: overNetwork(hub.get),
      create: overNetwork(hub.create),
      replace: overNetwork(hub.replace),
      remove: overNetwork(hub.remove),
      list: overNetwork(hub.list),
      watch: (ref, options, signal) => hub.watch(ref, options, signal),
    };
    const mayHaveLeader = (): boolean => this.#isServed;
    const { identity } = this;
    const common = { client, namespace, identity, times: defaultLeaseTimes, mayHaveLeader };
    return { ...common, clock: this.#clock, log: silentLog };
  }
}

/** Lets time pass in steps, and calls back after each. */
export async function passing(
  clock: FakeClock,
  { ms, stepMs = 250 }: { readonly ms: number; readonly stepMs?: number },
  check: () => void,
): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await clock.advance(stepMs);
    await settled();
    check();
  }
}

/** The parts that more than one replica may write for, also by different numbers of shards. */
export function overlapsOf(replicas: readonly Replica[]): readonly string[] {
  const holders = replicas.filter(({ held }) => held.length > 0);
  return holders.flatMap((one, index) =>
    holders.slice(index + 1).flatMap((other) => {
      const both = one.held.filter((part) =>
        one.shards === other.shards || part === "fleet"
          ? other.held.includes(part)
          : other.held.some((theirs) => theirs !== "fleet"),
      );
      return both.map((part) => `${one.identity} and ${other.identity}: ${part}`);
    }),
  );
}
