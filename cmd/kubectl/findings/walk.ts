import type { RequestObserver } from "../../../access/http/request.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Credential } from "../../../access/plugins/credential.ts";
import type { PluginLimits } from "../../../access/plugins/plugin-limits.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import {
  failedBy,
  type Finding,
  type Hop,
  type HopId,
  type HopResult,
  type HopState,
  hopTitles,
} from "./hops/hop.ts";
import type { Rendering } from "./hops/refused-object.ts";

interface WalkOptions {
  /** Time for a step, in ms. */
  readonly timeoutMsOf: (id: HopId) => number;
  readonly signal: AbortSignal;
  /** Finding for an error that a step throws. */
  readonly explain: (id: HopId, error: unknown) => Finding;
  /** Called after each step, in order. */
  readonly onHop?: (hop: Hop) => void;
}

/** The value of a step, or the failed step because of which there is none. */
export type StepValue<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly because: HopId };

type ValuesOf<Needs extends readonly StepValue<unknown>[]> = {
  readonly [At in keyof Needs]: Needs[At] extends StepValue<infer Value> ? Value : never;
};

/**
 * Takes the steps of a walk in order. A step that needs the value of a failed step is skipped, and names that step. A step that throws or runs
 * out of time is a failed step; it does not end the walk.
 */
export class Walk {
  readonly hops: Hop[] = [];
  /** When the credentials and certificates of the steps end, in ms since 1970. */
  readonly ends = new Map<HopId, number>();
  readonly #options: WalkOptions;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Aborts when the result is no longer needed. */
  get signal(): AbortSignal {
    return this.#options.signal;
  }

  /** Takes one step. Rejects only with the reason of the signal. */
  async take<Value, const Needs extends readonly StepValue<unknown>[]>(
    id: HopId,
    needs: Needs,
    work: (
      values: ValuesOf<Needs>,
      signal: AbortSignal,
    ) => HopResult<Value> | Promise<HopResult<Value>>,
  ): Promise<StepValue<Value>> {
    const missing = needs.find((need) => !need.ok);
    if (missing?.ok === false) {
      this.#record(skippedHop(id, missing.because));
      return missing;
    }
    const { signal, timeoutMsOf } = this.#options;
    signal.throwIfAborted();
    const startMs = performance.now();
    const result = await this.#run(id, () =>
      work(valuesOf(needs), withTimeout(systemClock, timeoutMsOf(id), signal)),
    );
    this.#record(hopOf(id, result, Math.round(performance.now() - startMs)));
    if (result.endsAtMs !== undefined) this.ends.set(id, result.endsAtMs);
    return result.value === undefined
      ? { ok: false, because: id }
      : { ok: true, value: result.value };
  }

  /** Records a step that does not apply. */
  skip(id: HopId, message: string): void {
    this.#record({ ...skippedHop(id, null), message });
  }

  async #run<Value>(
    id: HopId,
    work: () => HopResult<Value> | Promise<HopResult<Value>>,
  ): Promise<HopResult<Value>> {
    const { signal, explain } = this.#options;
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      return failedBy(explain(id, error));
    }
  }

  #record(hop: Hop): void {
    this.hops.push(hop);
    this.#options.onHop?.(hop);
  }
}

// The compiler cannot see that every need was checked.
function valuesOf<Needs extends readonly StepValue<unknown>[]>(needs: Needs): ValuesOf<Needs>;
function valuesOf(needs: readonly StepValue<unknown>[]): readonly unknown[] {
  return needs.map((need) => (need.ok ? need.value : undefined));
}

function hopOf(id: HopId, result: HopResult<unknown>, durationMs: number): Hop {
  const { message, evidence = [], findings = [], isSkipped = false } = result;
  if (isSkipped) return { ...skippedHop(id, null), message };
  const worst = findings.find(({ severity }) => severity === "error") ?? findings[0];
  return {
    id,
    title: hopTitles[id],
    state: stateOf(worst),
    code: worst?.code ?? null,
    message: worst?.message ?? message,
    evidence,
    findings,
    because: null,
    durationMs,
  };
}

function stateOf(worst: Finding | undefined): HopState {
  if (worst === undefined) return "OK";
  return worst.severity === "error" ? "FAIL" : "WARN";
}

function skippedHop(id: HopId, because: HopId | null): Hop {
  const message = because === null ? "" : `because of ${hopTitles[because]}`;
  return {
    id,
    title: hopTitles[id],
    state: "SKIPPED",
    code: null,
    message,
    evidence: [],
    findings: [],
    because,
    durationMs: null,
  };
}

/** Hub, identity and limits of a walk. */
export interface WalkContext {
  readonly hub: KubeClient;
  /** The hub with an identity that may read the provider file; absent: `hub`. */
  readonly fileHub?: KubeClient;
  /** Environment of exec plugins, with the kubeconfig that they use. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Time for one step on the hub, in ms. */
  readonly hubTimeoutMs: number;
  /** Time for one step on the way to the spoke and there, in ms. */
  readonly hopTimeoutMs: number;
  /** A file of this machine; undefined: the file that the controller has on the hub. */
  readonly providerFile: string | undefined;
  /** Namespace in which readers of the hub's file look for Secrets; absent: that of the controller. */
  readonly pluginNamespace?: string;
  /** Folders below which exec plugins have to be; empty: anywhere, for a provider file of this machine. */
  readonly pluginRoots: readonly string[];
  /** Whether commands of a provider file from the cluster may run, too. Security: T-85. */
  readonly exec: boolean;
  readonly execTimeoutMs: number;
  /** Limits how many plugins run at the same time. */
  readonly plugins: PluginLimits;
  readonly onRequest?: RequestObserver;
  /** Opens the release files, to render an object that the cluster refuses; absent, or undefined without release files. */
  readonly rendering?: (signal: AbortSignal) => Promise<Rendering | undefined>;
  /** Called with every credential, so that the caller can keep it out of its output. */
  readonly onCredential?: (credential: Credential) => void;
}
