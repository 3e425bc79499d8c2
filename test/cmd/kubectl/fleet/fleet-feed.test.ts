import { afterEach, describe, expect, test, vi } from "vitest";

import { readFlags } from "../../../../cmd/kubectl/flags.ts";
import { openFleetFeed } from "../../../../cmd/kubectl/fleet/fleet-feed.ts";
import { Fleet } from "../../../../cmd/kubectl/fleet/fleet.ts";
import { quickenSystemClock } from "../../../support/quick-system-clock.ts";
import { component, deployment, now } from "../fleet-facts.ts";
import { startStubHub, type Answer, type StubHub } from "../stub-hub.ts";

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

const local = component({ kind: "KnativeEventing", cluster: null });
const owner = { kind: "KnativeEventing", name: "knative-eventing" };
const objects = [local, deployment({ label: "knative-eventing", owner, name: "controller" })];

/** A feed of a hub, which is its own only cluster. */
async function started(
  hub: StubHub,
  options: { readonly live?: boolean; readonly watch?: boolean } = {},
) {
  const { live = true, watch = true } = options;
  const stop = new AbortController();
  stops.push(stop);
  const flags = readFlags({ kubeconfig: hub.kubeconfig, allNamespaces: true }, {});
  const output = { write: () => undefined };
  const terminal = { args: [], env: {}, stdout: output, stderr: output, now: () => now };
  const line = { args: [], flags, options: {}, terminal };
  const fleet = new Fleet(line, { reachesSpokes: live, selects: true }, stop.signal);
  const changes = { count: 0 };
  const feed = await openFleetFeed(fleet, { watch, onChange: () => (changes.count += 1) });
  return { feed, stop, changes };
}

const until = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 50 });
const countOf = (hub: StubHub, part: string) =>
  hub.requests.filter((request) => request.endsWith(part)).length;

/** Watches are held open as by a real server that has no news. */
const quiet: Answer = ({ query }) =>
  query?.get("watch") === "true" || query?.get("watch") === "1"
    ? { status: 503, body: { kind: "Status", apiVersion: "v1", code: 503, message: "later" } }
    : undefined;

describe("the fleet of top", () => {
  test("is what the hub says at once, and what the clusters say when they were read", async () => {
    await using hub = await startStubHub(objects, quiet);
    const { feed } = await started(hub);
    expect(feed.state().report.items).toMatchObject([
      { hub: { state: "Ready" }, live: { state: "Skipped" } },
    ]);
    await feed.readOnce;
    expect(feed.state().report.items).toMatchObject([{ live: { state: "Ready" } }]);
    expect(feed.state()).toMatchObject({ round: null, trouble: null, spokesReadAt: now });
  });

  test("reads no cluster with --no-live", async () => {
    await using hub = await startStubHub(objects, quiet);
    const { feed } = await started(hub, { live: false });
    await feed.readOnce;
    feed.refresh();
    await until(() => expect(countOf(hub, "/knativeeventings")).toBeGreaterThan(2));
    expect(countOf(hub, "/deployments")).toBe(0);
    expect(feed.state().report.items).toMatchObject([{ live: { state: "Skipped" } }]);
  });

  test("that is recorded is read once, and nothing of it is watched", async () => {
    await using hub = await startStubHub(objects, quiet);
    const { feed } = await started(hub, { watch: false });
    await feed.readOnce;
    const before = hub.requests.length;
    feed.refresh();
    expect(countOf(hub, "/knativeeventings")).toBe(1);
    expect(hub.requests).toHaveLength(before);
  });

  test("survives the hub: while it fails the last answer stays, with its age and the reason", async () => {
    quickenSystemClock(10);
    const fault = { isThere: false };
    await using hub = await startStubHub(objects, (request) =>
      fault.isThere
        ? { status: 500, body: { kind: "Status", apiVersion: "v1", code: 500, message: "down" } }
        : quiet(request),
    );
    const { feed, changes } = await started(hub);
    await feed.readOnce;
    fault.isThere = true;
    feed.refresh();
    await until(() => expect(feed.state().trouble).toMatch(/The hub answered 500/));
    expect(feed.state().report.items).toHaveLength(1);
    fault.isThere = false;
    await until(() => expect(feed.state().trouble).toBeNull());
    expect(changes.count).toBeGreaterThan(3);
  });

  test("reads the Leases of the controller once for many changes", async () => {
    await using hub = await startStubHub(objects, quiet);
    const { feed } = await started(hub, { live: false });
    await feed.readOnce;
    feed.refresh();
    await until(() => expect(countOf(hub, "/knativeeventings")).toBeGreaterThan(2));
    expect(countOf(hub, "/leases")).toBe(1);
  });

  test("however often it is asked to read anew, one round follows another", async () => {
    const reading = { now: 0, most: 0 };
    await using hub = await startStubHub(objects, quiet);
    const { feed } = await started(hub);
    await feed.readOnce;
    const before = countOf(hub, "/deployments");
    for (let press = 0; press < 50; press += 1) feed.refresh();
    await until(() => expect(countOf(hub, "/deployments")).toBeGreaterThan(before));
    await until(() => expect(feed.state().round).toBeNull());
    reading.most = countOf(hub, "/deployments") - before;
    expect(reading.most).toBeLessThanOrEqual(before * 2);
  });

  test("cannot begin with a hub that cannot be read", async () => {
    await using hub = await startStubHub([], () => ({ status: 403, body: {} }));
    await expect(started(hub)).rejects.toMatchObject({ status: 403 });
  });
});
