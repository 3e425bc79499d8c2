import { onTestFinished } from "vitest";

import { RequestCounters } from "../../access/http/request-counters.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
// oxlint-disable max-params -- the methods of the client take options and, last, the signal
import { systemClock } from "../../access/time/system-clock.ts";
import { CheckSource } from "../../access/urls/check-source.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import type { ControllerDeps } from "../../controller/controller-deps.ts";
import { type Controller, startController } from "../../controller/controller.ts";
import type { ListenAddress } from "../../controller/health.ts";
import { BoundedCache, type Rendered } from "../../render/release/releases.ts";
import { bareClient, unexpected } from "../support/bare-client.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { silentLog } from "../support/silent-log.ts";

/** What is never answered: it ends with the signal. */
export function never(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

export interface IdleOptions {
  /** Of the hub, which answers nothing else. */
  readonly watch: KubeClient["watch"];
  /** Default: never answered. */
  readonly get?: KubeClient["get"];
  readonly onRelease?: (ref: ClusterProfileRef) => void;
  /** Default: it never leads. */
  readonly lead?: ControllerDeps["lead"];
  readonly clock?: FakeClock;
  readonly healthAddress?: ListenAddress;
}

/** A controller that only watches its hub, until the test is over. */
export async function startIdle({
  watch,
  get = (_ref, _options, signal) => never(signal),
  onRelease = unexpected,
  lead = (_circumstances, signal) => never(signal),
  clock = new FakeClock(),
  healthAddress,
}: IdleOptions): Promise<Controller> {
  const hub = bareClient({ watch, get });
  const deps = {
    hub,
    hubFor: () => hub,
    leaseNamespace: "knfleet-system",
    hubAsTarget: hub,
    spokes: {
      acquire: unexpected,
      state: () => undefined,
      onChange: () => ({ [Symbol.dispose]: () => undefined }),
      release: onRelease,
      disconnect: unexpected,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    releases: {
      dir: "",
      versionsOf: () => [],
      load: unexpected,
      rendered: new BoundedCache<Rendered>(1),
    },
    rendering: { environment: {}, manifestText: unexpected },
    manifests: { onChange: () => ({ [Symbol.dispose]: () => undefined }) },
    checkSource: new CheckSource({ sources: [], userAgent: "knfleet-test" }),
    lead,
    requests: new RequestCounters(systemClock),
    clock,
    random: Math.random,
    log: silentLog,
  };
  const settings = {
    pollMs: 3_600_000,
    auditMs: 0,
    concurrency: 1,
    anchorProtection: "None",
    anchorProtectionCrds: false,
    sets: false,
    maxSetsPerNamespace: 100,
    shards: 1,
    spokeNamespace: "Canonical",
    healthAddress,
  } as const;
  const stop = new AbortController();
  const controller = await startController(deps, settings, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await controller[Symbol.asyncDispose]();
  });
  return controller;
}
