import { createHook } from "node:async_hooks";

import { expect, onTestFinished, test } from "vitest";

import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import { ClusterGuard } from "../../../controller/guard/cluster-guard.ts";
import { Guards } from "../../../controller/guard/guards.ts";
import { HubUsers } from "../../../controller/guard/policy.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing } from "../hand-made-installation.ts";
import { MemorySpoke } from "./memory-spoke.ts";

const hubId = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";
const minute = 60_000;
// A proof is made anew after 9 to 11 minutes.
const recheck = 11 * minute;
const nothing = (): void => undefined;

/** A guard that has proven that its cluster is guarded. */
async function enforcing(): Promise<{
  readonly clock: FakeClock;
  readonly spoke: MemorySpoke;
  readonly guard: ClusterGuard;
  readonly component: Component;
}> {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const hooks = { onChange: nothing, onEvent: nothing };
  const common = { clock, log: silentLog, hubId };
  const guards = new Guards({ ...common, protection: "Policy", crds: false, ...hooks });
  const life = new AbortController();
  onTestFinished(() => life.abort(new Error("The test is over")));
  const profile = { namespace: "fleet", name: "a" };
  const component = { ...eventing("a"), spec: { clusterProfileRef: profile } };
  const way = { client: spoke.clientOf("a"), fieldManager: "knfleet-test" };
  const target = { ...way, profile, namespace: "a", hubId };
  const guard = guards.protect(component, { target, signal: life.signal });
  if (guard === undefined) throw new Error("Anchors are guarded");
  await clock.advance(minute);
  expect(guard.protection.reason).toBe("Enforced");
  return { clock, spoke, guard, component };
}

/** A guard that uses this client until the test is over. */
function guardOf(
  client: KubeClient,
  changing: { readonly clock: FakeClock; readonly onChange: () => void },
): ClusterGuard {
  const life = new AbortController();
  onTestFinished(() => life.abort(new Error("The test is over")));
  return new ClusterGuard(
    { client, fieldManager: "knfleet-test", signal: life.signal },
    {
      log: silentLog,
      hubId,
      users: new HubUsers(),
      protection: "Policy",
      crds: false,
      onWithdrawn: nothing,
      ...changing,
    },
  );
}

const { signal } = new AbortController();
const second = { component: eventing("b"), anchor: { namespace: "b", name: "anchor" } };

/** Counts the promises that are made from now on and have not settled: what waits for one that never does. */
function unsettled(): () => number {
  const waiting = new Set<number>();
  const hook = createHook({
    init: (id, type) => void (type === "PROMISE" && waiting.add(id)),
    promiseResolve: (id) => void waiting.delete(id),
  });
  onTestFinished(() => void hook.disable());
  hook.enable();
  return () => waiting.size;
}

test("what a guard asks ahead in vain is asked again when there is something to protect", async () => {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  let asked = 0;
  const client = spoke.clientOf("a");
  const failing = {
    ...client,
    request: (...args: Parameters<typeof client.request>) => {
      const isFirst = args[1].endsWith("/selfsubjectreviews") && (asked += 1) === 1;
      return isFirst ? Promise.reject(new Error("Not now")) : client.request(...args);
    },
  };
  const said: string[] = [];
  const guard: ClusterGuard = guardOf(failing, {
    clock,
    onChange: () => said.push(guard.protection.reason),
  });
  guard.prepare();
  await clock.advance(0);
  guard.protect({ component: eventing("a"), anchor: { namespace: "a", name: "anchor" } });
  await clock.advance(minute);
  expect([asked, ...said]).toEqual([2, "Enforced"]);
});

test("a proof that is made anew again and again leaves nothing behind that waits", async () => {
  const { clock, spoke, guard } = await enforcing();
  const { requests } = spoke.objects;
  const count = unsettled();
  await clock.advance(2 * recheck);
  const before = count();
  await clock.advance(50 * recheck);
  // Not one for each proof; what runs the test may wait for something, too.
  expect(count()).toBeLessThan(before + 50);
  expect(clock.pending).toBe(1);
  expect(spoke.objects.requests - requests).toBeGreaterThan(50);
  expect(guard.protection.reason).toBe("Enforced");
});

test("what is disturbed after many proofs is put right at once, and proven anew from then on", async () => {
  const { clock, spoke, guard } = await enforcing();
  await clock.advance(20 * recheck);
  const { policy } = spoke;
  for (let times = 0; times < 3; times += 1) {
    spoke.edit("denied as intended", "denied by mistake");
    expect(spoke.policy).not.toBe(policy);
    await clock.advance(minute);
    expect(spoke.policy).toContain("denied as intended");
    expect(guard.protection.reason).toBe("Enforced");
    const { requests } = spoke.objects;
    await clock.advance(2 * recheck);
    expect(spoke.objects.requests).toBeGreaterThan(requests);
  }
});

test("no anchor is made between the disturbance of a policy and its repair", async () => {
  const { clock, spoke, guard } = await enforcing();
  spoke.objects.take(5_000, clock);
  spoke.edit("denied as intended", "denied by mistake");
  await clock.advance(1_000);
  let isOpen = false;
  const opened = guard.waitUntilOpen(signal).then(() => (isOpen = true));
  await clock.advance(1_000);
  expect(isOpen).toBe(false);
  await clock.advance(minute);
  expect(await opened).toBe(true);
});

test("a guard with another installation is not retired, and asks nothing", async () => {
  const { spoke, guard, component } = await enforcing();
  guard.protect(second);
  const { requests } = spoke.objects;
  await guard.retire(component, signal);
  expect(spoke.objects.requests).toBe(requests);
  expect(guard.isAtWork).toBe(true);
});

test("a guard is not retired when an installation comes while it asks for anchors", async () => {
  const { clock, spoke, guard, component } = await enforcing();
  spoke.objects.take(1_000, clock);
  const retired = guard.retire(component, signal);
  guard.protect(second);
  await clock.advance(minute);
  await retired;
  expect(guard.isAtWork).toBe(true);
  expect(spoke.policy).not.toBe('""');
});

test.each(["left alone", "removed"] as const)(
  "a guard whose next installation is %s before the removal of the last one ends does not start again behind it",
  async (how) => {
    const { clock, spoke, guard, component } = await enforcing();
    spoke.objects.take(1_000, clock);
    const removals = [guard.retire(component, signal)];
    // The anchors are listed, and the removal has begun.
    await clock.advance(1_500);
    guard.protect(second);
    expect(guard.isAtWork).toBe(true);
    if (how === "removed") removals.push(guard.retire(second.component, signal));
    else guard.stopProtecting(second.component);
    const { writes } = spoke;
    await clock.advance(minute);
    await Promise.all(removals);
    await clock.advance(minute);
    expect(guard.isAtWork).toBe(false);
    expect([spoke.policy, spoke.writes]).toEqual(['""', writes]);
    const { requests } = spoke.objects;
    await clock.advance(2 * recheck);
    expect(spoke.objects.requests).toBe(requests);
  },
);

test("a guard that protects nothing any more is told as none, asks nothing, and lets anchors wait for the next one", async () => {
  const { clock, spoke, guard, component } = await enforcing();
  guard.stopProtecting(component);
  expect(guard.protection.reason).toBe("Probing");
  const { requests } = spoke.objects;
  await guard.retire(component, signal);
  expect(spoke.objects.requests).toBe(requests);
  let isOpen = false;
  const opened = guard.waitUntilOpen(signal).then(() => (isOpen = true));
  await clock.advance(minute);
  expect(isOpen).toBe(false);
  guard.protect(second);
  await clock.advance(minute);
  expect(await opened).toBe(true);
});

test("a guard of a cluster where nothing was ever installed writes without a read, and watches only after the proof", async () => {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const sent: string[] = [];
  const client = spoke.clientOf("a");
  const told = {
    ...client,
    get: (...args: Parameters<typeof client.get>) => {
      sent.push("read");
      return client.get(...args);
    },
    create: (...args: Parameters<typeof client.create>) => {
      sent.push("write");
      return client.create(...args);
    },
    watch: (...args: Parameters<typeof client.watch>) => {
      sent.push("watch");
      return client.watch(...args);
    },
    request: (...args: Parameters<typeof client.request>) => {
      if (args[1].includes("/configmaps")) sent.push("probe");
      return client.request(...args);
    },
  };
  const guard = guardOf(told, { clock, onChange: nothing });
  guard.protect({ ...second, isNew: true });
  await clock.advance(minute);
  expect(guard.protection.reason).toBe("Enforced");
  expect([...new Set(sent)]).toEqual(["write", "probe", "watch"]);
});
