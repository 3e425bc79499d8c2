import { monitorEventLoopDelay } from "node:perf_hooks";

import { type Log, logFailure } from "../access/log.ts";
import { type Clock, every } from "../access/time/clock.ts";
import { type Component, operatorApiVersion } from "../api/component.ts";
import type { AppDeps } from "./app.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { Certificates } from "./certificates/certificates.ts";
import type { RenderCheck } from "./rules/rule.ts";

interface ServiceParts {
  readonly loop: Pick<EventLoopWatch, "isSlow">;
  readonly budget: Pick<ByteBudget, "isStuck">;
  readonly reviews: WarmUp;
}

/** The state of the service between start and stop, and what readiness says. */
export class ServiceState {
  isDraining = false;
  certificates: Pick<Certificates, "waitingFor"> | undefined;
  readonly view: Pick<AppDeps, "waitingFor" | "draining">;

  constructor({ loop, budget, reviews }: ServiceParts) {
    this.view = {
      draining: () => this.isDraining,
      waitingFor: () => [
        ...(this.certificates?.waitingFor() ?? ["the start"]),
        ...reviews.waitingFor(),
        ...(this.isDraining ? ["the end: it is stopping"] : []),
        ...(loop.isSlow() ? ["the event loop, which is half a second late"] : []),
        ...(budget.isStuck() ? ["room for reviews: none could be read for a minute"] : []),
      ],
    };
  }

  hasCertificate(): boolean {
    return this.certificates?.waitingFor().length === 0;
  }
}

/** Work that is done before the first review. */
export interface WarmUp {
  /** What is not done yet. */
  readonly waitingFor: () => readonly string[];
}

const metadata = { namespace: "knative", name: "component", uid: "", resourceVersion: "" };
const kourier = { istio: { enabled: false }, kourier: { enabled: true } };
const components: readonly Component[] = [
  { apiVersion: operatorApiVersion, kind: "KnativeServing", metadata, spec: { ingress: kourier } },
  { apiVersion: operatorApiVersion, kind: "KnativeServing", metadata, spec: {} },
  { apiVersion: operatorApiVersion, kind: "KnativeEventing", metadata, spec: {} },
];

/**
 * Renders the newest release of each kind in the background, Serving with Kourier and with Istio. The first review of a release parses its
 * files, and on a busy machine that takes longer than an API server may wait. A release that cannot be rendered holds nothing up: the
 * reviews say what is wrong with it.
 */
export function warmUp(renderCheck: RenderCheck, log: Log, signal: AbortSignal): WarmUp {
  let isWarm = false;
  const render = async (): Promise<void> => {
    for (const component of components) await renderCheck(component, signal);
  };
  void render()
    .catch((error: unknown) => {
      if (signal.aborted) return;
      logFailure(log, "warn", { err: error }, "A release could not be rendered at the start");
    })
    .finally(() => {
      isWarm = true;
    });
  return { waitingFor: () => (isWarm ? [] : ["the releases, which are being read"]) };
}

/** Whether the event loop keeps up. */
export interface EventLoopWatch extends Disposable {
  /** True when, in each of the last ten seconds, at least 1 % of the turns came half a second late. */
  readonly isSlow: () => boolean;
}

const lookMs = 1_000;
const slowMs = 500;
const patienceMs = 10_000;

/** When the event loop became slow, given the value before and the last measurement; undefined while it is not slow. */
export function slowSince(
  before: number | undefined,
  { p99Ms, nowMs }: { readonly p99Ms: number; readonly nowMs: number },
): number | undefined {
  return p99Ms > slowMs ? (before ?? nowMs) : undefined;
}

/** Watches the delay of this process's event loop. Security: "Node" rules. */
export function watchEventLoop(clock: Clock): EventLoopWatch {
  const delays = monitorEventLoopDelay({ resolution: 20 });
  delays.enable();
  let sinceMs: number | undefined;
  const timer = every(clock, lookMs, () => {
    const p99Ms = delays.percentile(99) / 1e6;
    sinceMs = slowSince(sinceMs, { p99Ms, nowMs: clock.now() });
    delays.reset();
  });
  return {
    isSlow: () => sinceMs !== undefined && clock.now() - sinceMs >= patienceMs,
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      delays.disable();
    },
  };
}
