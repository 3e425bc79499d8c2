import type { KubeClient } from "../../access/kube/kube-client.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import type { Component } from "../../api/component.ts";
import { asComponent } from "../../controller/component-identity.ts";
import { Dispatcher, type WorkOptions } from "../../controller/dispatcher.ts";
import type { NewEvent } from "../../controller/events.ts";
import { Guards } from "../../controller/guard/guards.ts";
import { Neighbours } from "../../controller/reconcile/neighbours.ts";
import { TargetConnections } from "../../controller/target/target-connection.ts";
import { Preparations } from "../../installation/desired.ts";
import { BoundedCache, type Rendered } from "../../render/release/releases.ts";
import { bareClient, unexpected } from "../support/bare-client.ts";
import { serving } from "../support/component.ts";
import { componentsOf } from "../support/components.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { MemoryHub } from "../support/memory-hub.ts";
import { metricsOf } from "../support/metrics.ts";
import { silentLog } from "../support/silent-log.ts";

export const kind = "KnativeServing";
export const name = "knative-serving";

/** Work for all shards with the same dependencies. */
export function workOf(
  deps: WorkOptions["deps"] & ReturnType<WorkOptions["ofShard"]>,
  mayWrite: WorkOptions["mayWrite"] = () => true,
): WorkOptions {
  return { deps, ofShard: () => deps, mayWrite };
}

/** May not use its cluster. */
export const refused = serving({ spec: { clusterProfileRef: { namespace: "b", name: "c" } } });

/** A hub with one component that may not use its cluster, which nobody is to ask anything, and Events that are taken when a test says so. */
export function hubWithOne() {
  const hub = hubWithNone();
  hub.memory.edit(kind, name, refused);
  return hub;
}

/** A hub with no component yet. */
export function hubWithNone({
  memory = new MemoryHub(),
  patch = unexpected,
  shards = 1,
}: {
  readonly memory?: MemoryHub;
  readonly patch?: KubeClient["patch"];
  readonly shards?: number;
} = {}) {
  const stored = (): Component => asComponent(memory.find(kind, name)) ?? unexpected();
  const client = bareClient({
    get: (...args) => memory.get(...args),
    replace: (...args) => memory.replace(...args),
    patch,
  });
  const clock = new FakeClock();
  const log = silentLog;
  const told: { readonly event: NewEvent; readonly taken: () => void }[] = [];
  const record = (_: Component, event: NewEvent, signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve(), { once: true });
    told.push({ event, taken: resolve });
    return promise;
  };
  const components = componentsOf(() => (memory.find(kind, name) === undefined ? [] : [stored()]));
  const observer = metricsOf();
  const dispatcher = new Dispatcher({
    clock,
    log,
    components,
    random: Math.random,
    observer,
    concurrency: 1,
    auditMs: 0,
    shards,
  });
  const deps = {
    hub: client,
    hubAsTarget: client,
    hubId: "hub",
    clock,
    log,
    components,
    spokes: { acquire: unexpected, state: () => undefined },
    references: { policy: { mode: "Same", grants: [] } },
    releases: {
      dir: "",
      versionsOf: () => [],
      load: unexpected,
      rendered: new BoundedCache<Rendered>(1),
    },
    rendering: { environment: {}, manifestText: unexpected },
    connections: new TargetConnections(systemClock),
    neighbours: new Neighbours(systemClock),
    preparations: new Preparations(),
    events: { record, audit: record },
    metrics: observer,
    guards: new Guards({
      clock,
      log,
      hubId: "hub",
      protection: "None",
      crds: false,
      onChange: unexpected,
      onEvent: unexpected,
    }),
    guardsCrds: false,
    spokeNamespace: "Canonical",
    pollMs: 3_600_000,
  } as const;
  return { memory, clock, told, dispatcher, stored, deps };
}
