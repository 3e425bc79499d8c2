import { expect, onTestFinished, test, vi } from "vitest";

import type { KubeClient, WatchEvent } from "../../access/kube-client.ts";
import { RequestCounters } from "../../access/request-counters.ts";
import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { startController } from "../../controller/controller.ts";
import { leftSpokeOf } from "../../controller/left-spoke.ts";
import { BoundedCache } from "../../controller/render/bounded-cache.ts";
import type { Rendered } from "../../controller/render/render.ts";
import { serving } from "../support/component.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { silentLog } from "../support/silent-log.ts";

const a = { clusterProfileRef: { namespace: "fleet", name: "a" } };
const b = { clusterProfileRef: { namespace: "fleet", name: "b" } };

test.each([
  { name: "the last component of a spoke leaves it", of: a, others: [b], left: a },
  { name: "one of two does not", of: a, others: [b, a], left: undefined },
  { name: "one on the hub itself leaves nothing", of: {}, others: [], left: undefined },
])("$name", ({ of, others, left }) => {
  const all = others.map((spec) => serving({ spec }));
  expect(leftSpokeOf(serving({ spec: of }), all)).toEqual(left?.clusterProfileRef);
});

function unexpected(): never {
  throw new Error("Nobody is to be asked");
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}

/** A component of a name, for a cluster. */
function component(name: string, spec: Component["spec"], resourceVersion = "1"): Component {
  const metadata = { namespace: name, uid: name, resourceVersion };
  return serving({ metadata, ...(spec && { spec }) });
}

test("a spoke is released with its last component, and when that is for another one", async () => {
  const [one, two] = [component("one", a), component("two", a)];
  const events: readonly WatchEvent[] = [
    { type: "ADDED", object: one },
    { type: "ADDED", object: two },
    { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true },
    { type: "MODIFIED", object: component("one", a, "2") },
    { type: "DELETED", object: one },
    { type: "MODIFIED", object: component("two", b, "3") },
    { type: "DELETED", object: component("two", b, "4") },
  ];
  async function* watch({
    resource,
  }: Parameters<KubeClient["watch"]>[0]): AsyncGenerator<WatchEvent> {
    yield* resource.kind === "KnativeServing" ? events : events.slice(2, 3);
    await forever();
  }
  const hub: KubeClient = {
    server: "https://hub.test",
    watch,
    get: forever,
    list: unexpected,
    create: unexpected,
    replace: unexpected,
    apply: unexpected,
    patch: unexpected,
    remove: unexpected,
    removeCollection: unexpected,
    request: unexpected,
  };
  const released: ClusterProfileRef[] = [];
  const deps = {
    hub,
    hubAsTarget: hub,
    spokes: {
      acquire: unexpected,
      state: () => undefined,
      onChange: () => ({ [Symbol.dispose]: () => undefined }),
      release: (ref: ClusterProfileRef) => void released.push(ref),
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
    lead: forever,
    requests: new RequestCounters(),
    clock: new FakeClock(),
    random: Math.random,
    log: silentLog,
  };
  const settings = {
    pollMs: 3_600_000,
    auditMs: 0,
    concurrency: 1,
    anchorProtection: "None",
    anchorProtectionCrds: false,
    healthAddress: undefined,
  } as const;
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  await startController(deps, settings, stop.signal);
  await vi.waitFor(() => {
    expect(released).toEqual([a.clusterProfileRef, b.clusterProfileRef]);
  });
});
