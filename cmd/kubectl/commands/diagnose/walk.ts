import type { RequestObserver } from "../../../../access/http/request.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Credential } from "../../../../access/plugins/credential.ts";
import type { PluginLimits } from "../../../../access/plugins/plugin-limits.ts";
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
  /** Meaning of an error of the step. */
  readonly explain: (id: HopId, error: unknown) => Finding;
  /** Called after each step, in order. */
  readonly onHop?: (hop: Hop) => void;
}

/** A value of a step, or the step that is in its way. */
export type Had<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly because: HopId };

type ValuesOf<Needs extends readonly Had<unknown>[]> = {
  readonly [At in keyof Needs]: Needs[At] extends Had<infer Value> ? Value : never;
};

/**
 * Goes step by step. A step that needs what an earlier one could not give is skipped, and says which; no step fails the walk. A step that
 * throws, also because its time was over, is a failed one.
 */
export class Walk {
  readonly hops: Hop[] = [];
  readonly #options: WalkOptions;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Aborts when the result is no longer needed. */
  get signal(): AbortSignal {
    return this.#options.signal;
  }

  /** Takes one step. Rejects only with the reason of the signal. */
  async take<Value, const Needs extends readonly Had<unknown>[]>(
    id: HopId,
    needs: Needs,
    work: (
      values: ValuesOf<Needs>,
      signal: AbortSignal,
    ) => HopResult<Value> | Promise<HopResult<Value>>,
  ): Promise<Had<Value>> {
    const missing = needs.find((need) => !need.ok);
    if (missing?.ok === false) {
      this.#note(skippedHop(id, missing.because));
      return missing;
    }
    const { signal, timeoutMsOf } = this.#options;
    signal.throwIfAborted();
    const startMs = performance.now();
    const result = await this.#result(id, () =>
      work(valuesOf(needs), AbortSignal.any([signal, AbortSignal.timeout(timeoutMsOf(id))])),
    );
    this.#note(hopOf(id, result, Math.round(performance.now() - startMs)));
    return result.value === undefined
      ? { ok: false, because: id }
      : { ok: true, value: result.value };
  }

  /** Notes a step that is of no interest here. */
  skip(id: HopId, message: string): void {
    this.#note({ ...skippedHop(id, null), message });
  }

  async #result<Value>(
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

  #note(hop: Hop): void {
    this.hops.push(hop);
    this.#options.onHop?.(hop);
  }
}

// The compiler does not see that each need was looked at.
function valuesOf<Needs extends readonly Had<unknown>[]>(needs: Needs): ValuesOf<Needs>;
function valuesOf(needs: readonly Had<unknown>[]): readonly unknown[] {
  return needs.map((need) => (need.ok ? need.value : undefined));
}

function hopOf(id: HopId, result: HopResult<unknown>, durationMs: number): Hop {
  const { message, evidence = [], findings = [], isUnseen = false } = result;
  if (isUnseen) return { ...skippedHop(id, null), message };
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

/** From where, as whom and within which limits a way is walked. */
export interface WalkContext {
  readonly hub: KubeClient;
  /** The hub with an identity that may read the provider file, when the walk's identity may not; absent: `hub`. */
  readonly fileHub?: KubeClient;
  /** Environment of our process as plugins see it, with the kubeconfig that they are to use. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Time for one step on the hub, in ms. */
  readonly hubTimeoutMs: number;
  /** Time for one step on the way to the spoke and there, in ms. */
  readonly hopTimeoutMs: number;
  /** A file of this machine; undefined: the controller's, as the hub has it. */
  readonly providerFile: string | undefined;
  /** Where the readers of the hub's file look for Secrets; absent: where the controller does. */
  readonly pluginNamespace?: string;
  /** Folders below which exec plugins have to be; empty: anywhere, for a provider file of this machine. */
  readonly pluginRoots: readonly string[];
  /** Whether commands that came from the cluster may be run, too. Security: T-85. */
  readonly exec: boolean;
  readonly execTimeoutMs: number;
  /** Limits how many plugins run at the same time. */
  readonly plugins: PluginLimits;
  readonly onRequest?: RequestObserver;
  /** Renders objects that the cluster refuses, to find out why; absent or undefined: that is not possible. */
  readonly rendering?: () => Promise<Rendering | undefined>;
  /** Called with every credential, so that the caller can keep it out of its output. */
  readonly onCredential?: (credential: Credential) => void;
}
