import { setTimeout as delay } from "node:timers/promises";

import { RequestCounters } from "../../access/http/request-counters.ts";
import { AuthorizedRequester } from "../../access/http/requester.ts";
import { RenewingCredentials } from "../../access/plugins/credential-source.ts";
import { runExecPlugin } from "../../access/plugins/exec-plugin.ts";
import { pluginEnvironment } from "../../access/plugins/plugin-policy.ts";
import type { ResolvedAccess } from "../../access/spokes/resolved-access.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { FleetError } from "../../api/errors.ts";
import { fieldsOf, listOf } from "./access-cases.ts";
import type { RecordedPlugin } from "./recorded-plugin.ts";

/** What a caller saw of one request. */
export interface RequestOutcome {
  readonly status?: number;
  readonly error?: unknown;
  readonly runsSoFar: number;
}

/** A clock that can be moved on. */
export class MovingClock {
  #offsetMs = 0;
  readonly #plugin: RecordedPlugin;

  constructor(plugin: RecordedPlugin) {
    this.#plugin = plugin;
  }

  now(): number {
    return Date.now() + this.#offsetMs;
  }

  async move(ms: number): Promise<void> {
    this.#offsetMs += ms;
    await this.#plugin.setOffset(this.#offsetMs);
  }
}

// Longer than the longest pause after a failure.
const pastBackoffMs = 80_000;

/** A client as a spoke's connection has it, with the case's plugin and clock. */
export class CaseClient implements AsyncDisposable {
  readonly #requester: AuthorizedRequester;
  readonly #credentials: RenewingCredentials;
  readonly #plugin: RecordedPlugin;
  readonly #clock: MovingClock;

  constructor(access: ResolvedAccess, surroundings: CaseSurroundings) {
    const { plugin, clock, environment } = surroundings;
    this.#plugin = plugin;
    this.#clock = clock;
    const forPlugin = {
      clock: { ...systemClock, date: () => new Date(clock.now()) },
      environment: pluginEnvironment(environment),
    };
    this.#credentials = new RenewingCredentials({
      obtain: (signal) => runExecPlugin(access.plan, forPlugin, signal),
      clock: { now: () => clock.now(), date: () => new Date(clock.now()) },
      random: () => 0.5,
    });
    this.#requester = new AuthorizedRequester({
      clock: systemClock,
      endpoint: access.endpoint,
      userAgent: "vectors",
      counters: new RequestCounters(systemClock),
      credentials: this.#credentials,
    });
  }

  async request(path: string, timeoutMs: number, signal: AbortSignal): Promise<RequestOutcome> {
    const request = {
      method: "GET",
      path,
      verb: "get",
      headers: { accept: "application/json" },
      timeoutMs,
      idempotent: true,
    } as const;
    try {
      const { status } = await this.#requester.send(request, signal);
      return { status, runsSoFar: await this.#plugin.runs() };
    } catch (error) {
      return { error, runsSoFar: await this.#plugin.runs() };
    }
  }

  /** After a failure: asks once more, when no plugin may run, and then lets the pause pass. True when none ran. */
  async holdsBack(outcome: RequestOutcome, signal: AbortSignal): Promise<boolean> {
    const { error, runsSoFar } = outcome;
    const isPlugin = error instanceof FleetError && error.code?.startsWith("Plugin") === true;
    if (!isPlugin) return true;
    const again = await this.request("/version", 1_000, signal);
    await this.#clock.move(pastBackoffMs);
    return again.error !== undefined && again.runsSoFar === runsSoFar;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#credentials[Symbol.dispose]();
    await this.#requester[Symbol.asyncDispose]();
  }
}

export interface CaseSurroundings {
  readonly plugin: RecordedPlugin;
  readonly clock: MovingClock;
  readonly environment: Readonly<Record<string, string>>;
}

/** What came of one step of a case: an outcome for each of its requests. */
export interface StepOutcome {
  readonly step: Readonly<Record<string, unknown>>;
  readonly requests: readonly RequestOutcome[];
  /** False when a plugin ran again right after it had failed. */
  readonly heldBack: boolean;
}

/** Does the steps of a case, one after another. */
export async function runSteps(
  steps: unknown,
  { clientOf, clock }: StepTools,
  signal: AbortSignal,
): Promise<readonly StepOutcome[]> {
  const outcomes: Promise<StepOutcome>[] = [];
  for (const step of listOf(steps).map(fieldsOf)) {
    await clock.move(Number(step["sleepMs"] ?? 0));
    const done = runStep(step, clientOf, signal);
    outcomes.push(done);
    if (step["background"] === true) await delay(300);
    else await done;
  }
  return Promise.all(outcomes);
}

interface StepTools {
  /** The client of a profile, by its index; made anew where the case wants that. */
  readonly clientOf: (index: number) => CaseClient;
  readonly clock: MovingClock;
}

async function runStep(
  step: StepOutcome["step"],
  clientOf: StepTools["clientOf"],
  signal: AbortSignal,
): Promise<StepOutcome> {
  const times = Number(step["request"] ?? step["builds"] ?? 0);
  const path = typeof step["path"] === "string" ? step["path"] : "/version";
  const timeoutMs = Number(step["timeoutMs"] ?? 10_000);
  const one = (): Promise<RequestOutcome> =>
    clientOf(Number(step["client"] ?? 0)).request(path, timeoutMs, signal);
  if (step["parallel"] === true) {
    const requests = await Promise.all(Array.from({ length: times }, one));
    return { step, requests, heldBack: true };
  }
  const requests: RequestOutcome[] = [];
  let heldBack = true;
  for (let done = 0; done < times; done += 1) {
    const outcome = await one();
    requests.push(outcome);
    heldBack &&= await clientOf(Number(step["client"] ?? 0)).holdsBack(outcome, signal);
  }
  return { step, requests, heldBack };
}
