import { expect, onTestFinished, test } from "vitest";

import type { ClusterGuard } from "../../../controller/guard/cluster-guard.ts";
import { Guards } from "../../../controller/guard/guards.ts";
import { policyNameOf } from "../../../controller/guard/policy.ts";
import { anchorAnnotations } from "../../../installation/anchor.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing } from "../hand-made-installation.ts";
import { MemorySpoke } from "./memory-spoke.ts";

const hubId = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";
const minute = 60_000;
const { signal } = new AbortController();

/** One life of the controller: what it says of the protection, by ClusterProfile, and how it comes to clusters. */
function controller(clock: FakeClock) {
  const said: string[] = [];
  const known = new Map<string, () => string>();
  const guards = new Guards({
    clock,
    log: silentLog,
    hubId,
    protection: "Policy",
    crds: false,
    onChange: ({ name }) => said.push(`${name} ${known.get(name)?.()}`),
    onEvent: () => undefined,
  });
  const lives: AbortController[] = [];
  /** A component over a ClusterProfile of its own, as whose user it is named. */
  const install = (spoke: MemorySpoke, user: string, groups?: readonly string[]) => {
    const life = new AbortController();
    lives.push(life);
    const word = `at-${user}`;
    const profile = { namespace: "fleet", name: user };
    const component = { ...eventing(word), spec: { clusterProfileRef: profile } };
    const client = spoke.clientOf(user, groups);
    const target = { client, profile, namespace: word, fieldManager: "knfleet-test", hubId };
    const guard = guards.protect(component, { target, signal: life.signal });
    if (guard === undefined) throw new Error("Anchors are guarded");
    known.set(user, () => guard.protection.reason);
    return {
      guard,
      component,
      target,
      end: () => life.abort(new Error("The connection is closed")),
    };
  };
  const end = (): void => lives.forEach((life) => life.abort(new Error("The process ends")));
  onTestFinished(end);
  return { guards, said, install, end };
}

async function enforced(clock: FakeClock, ...guards: readonly ClusterGuard[]): Promise<void> {
  await clock.advance(minute);
  expect(guards.map(({ protection }) => protection.reason)).toEqual(guards.map(() => "Enforced"));
}

/** What is written in some minutes. */
async function writesIn(clock: FakeClock, spoke: MemorySpoke): Promise<number> {
  const before = spoke.writes;
  await clock.advance(5 * minute);
  return spoke.writes - before;
}

/** A cluster that guards for two identities. */
async function guardedByTwo() {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const { install } = controller(clock);
  const [a, b] = [install(spoke, "a"), install(spoke, "b")];
  await enforced(clock, a.guard, b.guard);
  return { clock, spoke, install, a, b };
}

const both = String.raw`request.userInfo.username in [\"a\", \"b\"]`;

test.each([
  ["one after the other", minute],
  ["at the same time", 0],
])("two identities of one hub on one cluster, %s, are both let in and then rest", async (_, ms) => {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const { install, said } = controller(clock);
  const a = install(spoke, "a");
  await clock.advance(ms);
  const b = install(spoke, "b");
  await enforced(clock, a.guard, b.guard);
  expect(spoke.policy).toContain(both);
  expect(await writesIn(clock, spoke)).toBe(0);
  expect(said.filter((line) => line.endsWith("Enforced"))).toHaveLength(2);
});

test("a controller that starts anew lets both identities in again, writes little, and then rests", async () => {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const first = controller(clock);
  first.install(spoke, "a");
  first.install(spoke, "b");
  await clock.advance(minute);
  first.end();
  const before = spoke.writes;
  const { install } = controller(clock);
  const a = install(spoke, "a");
  await clock.advance(minute);
  const b = install(spoke, "b");
  await enforced(clock, a.guard, b.guard);
  expect(spoke.policy).toContain(both);
  // Whose names those were that it found there nobody could know: out with them, and in again, in two policies.
  expect(spoke.writes - before).toBe(4);
  expect(await writesIn(clock, spoke)).toBe(0);
});

test("the user of a connection that is closed stays until the policy is written for another reason", async () => {
  const { clock, spoke, a, b } = await guardedByTwo();
  b.end();
  expect(await writesIn(clock, spoke)).toBe(0);
  expect(spoke.policy).toContain(both);
  spoke.edit("denied as intended", "denied by mistake");
  await enforced(clock, a.guard);
  expect(spoke.policy).toContain(String.raw`request.userInfo.username == \"a\"`);
});

test("a connection that is opened anew finds its user in the policy, and nothing is written", async () => {
  const { clock, spoke, install, a, b } = await guardedByTwo();
  const before = spoke.writes;
  b.end();
  const again = install(spoke, "b");
  await enforced(clock, a.guard, again.guard);
  expect(spoke.writes).toBe(before);
});

test("an identity that is not the controller's alone is told of at each that it lets in", async () => {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const { install } = controller(clock);
  const a = install(spoke, "a");
  await enforced(clock, a.guard);
  const b = install(spoke, "b", ["system:masters"]);
  await clock.advance(minute);
  const reasons = [a, b].map(({ guard }) => guard.protection.reason);
  expect(reasons).toEqual(["SharedIdentity", "SharedIdentity"]);
});

test("a user whom somebody else wrote into the policy is taken out", async () => {
  const { clock, spoke, a, b } = await guardedByTwo();
  spoke.edit(String.raw`in [\"a\", \"b\"]`, String.raw`in [\"a\", \"b\", \"c\"]`);
  await enforced(clock, a.guard, b.guard);
  expect(spoke.policy).toContain(both);
});

test("the policies of a cluster know the users of that cluster only", async () => {
  const clock = new FakeClock();
  const [one, other] = [new MemorySpoke(hubId), new MemorySpoke(hubId)];
  const { install } = controller(clock);
  const a = install(one, "a");
  const b = install(other, "b");
  await enforced(clock, a.guard, b.guard);
  expect(one.policy).toContain(String.raw`request.userInfo.username == \"a\"`);
  expect(other.policy).toContain(String.raw`request.userInfo.username == \"b\"`);
});

test("a cluster that passes its policy off as that of another one has its user let in there by nobody", async () => {
  const clock = new FakeClock();
  const [victim, liar] = [new MemorySpoke(hubId), new MemorySpoke(hubId)];
  const { install } = controller(clock);
  const a = install(victim, "a");
  const b = install(liar, "mallory");
  await enforced(clock, a.guard, b.guard);
  const name = policyNameOf("anchor-guard", hubId);
  const kind = "ValidatingAdmissionPolicy";
  const { uid } = victim.objects.find(kind, name)?.metadata ?? {};
  const { metadata } = liar.objects.find(kind, name) ?? {};
  liar.objects.edit(kind, name, { metadata: { ...Object(metadata), uid } });
  for (const spoke of [liar, victim]) {
    spoke.edit("denied as intended", "denied by mistake");
    await enforced(clock, a.guard, b.guard);
  }
  expect(victim.policy).toContain(String.raw`request.userInfo.username == \"a\"`);
  expect(victim.policy).not.toContain("mallory");
});

test("the guard of a connection that protects nothing any more leaves the policies to the others", async () => {
  const { clock, spoke, a, b } = await guardedByTwo();
  const name = "anchor-of-b";
  const annotations = { [anchorAnnotations.hubId]: hubId, [anchorAnnotations.protected]: "true" };
  spoke.objects.edit("ConfigMap", name, { metadata: { name, annotations } });
  await a.guard.retire(a.component, signal);
  expect(await writesIn(clock, spoke)).toBe(0);
  expect(spoke.policy).toContain(both);
  // An installation that comes now is protected without another proof.
  expect(a.guard.isAtWork).toBe(true);
  await a.guard.waitUntilOpen(signal);
  spoke.objects.drop("ConfigMap", name);
  await b.guard.retire(b.component, signal);
  expect(await writesIn(clock, spoke)).toBe(0);
  expect(spoke.policy).toBe('""');
  expect(a.guard.isAtWork).toBe(false);
});

test("an attempt that comes to its guard when its connection has ended does not hide the guard of the next one", async () => {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const { guards, install } = controller(clock);
  const { guard, component, target } = install(spoke, "a");
  const ended = AbortSignal.abort(new Error("The connection is closed"));
  guards.protect(component, { target: { ...target, client: spoke.clientOf("a") }, signal: ended });
  await enforced(clock, guard);
  expect(guards.protectionOf(component)).toMatchObject({ reason: "Enforced" });
});

/** Guards of a controller with this flag, and a component on a cluster. */
function flagged(protection: "Auto" | "Policy" | "TwinOwner" | "None") {
  const clock = new FakeClock();
  const spoke = new MemorySpoke(hubId);
  const common = { clock, log: silentLog, hubId, crds: false };
  const hooks = { onChange: () => undefined, onEvent: () => undefined };
  const guards = new Guards({ ...common, ...hooks, protection });
  const life = new AbortController();
  onTestFinished(() => life.abort(new Error("The test is over")));
  const profile = { namespace: "fleet", name: "a" };
  const component = { ...eventing("a"), spec: { clusterProfileRef: profile } };
  const way = { client: spoke.clientOf("a"), fieldManager: "knfleet-test" };
  const guarded = { target: { ...way, profile, namespace: "a", hubId }, signal: life.signal };
  return { clock, spoke, guards, component, guarded };
}

test("a removal from a cluster without our policies makes none", async () => {
  const { clock, spoke, guards, component, guarded } = flagged("Policy");
  const guard = await guards.prepareRemoval(component, guarded, signal);
  await clock.advance(minute);
  expect([guard?.isAtWork, spoke.writes]).toEqual([false, 0]);
});

test("a removal from a cluster with our policies waits until they let this controller in", async () => {
  const { clock, spoke, guards, component, guarded } = flagged("Policy");
  const { install, end } = controller(clock);
  await enforced(clock, install(spoke, "b").guard);
  end();
  const guard = await guards.prepareRemoval(component, guarded, signal);
  expect(guard?.isAtWork).toBe(true);
  expect(spoke.policy).toContain(String.raw`request.userInfo.username == \"a\"`);
  const { requests } = spoke.objects;
  expect(await guards.prepareRemoval(component, guarded, signal)).toBe(guard);
  expect(spoke.objects.requests).toBe(requests);
});

test("a removal goes on when nobody knows what the guard does, and not when it is to end", async () => {
  const { spoke, guards, component, guarded } = flagged("Policy");
  spoke.objects.fail();
  const guard = await guards.prepareRemoval(component, guarded, signal);
  expect(guard?.isAtWork).toBe(false);
  const ended = AbortSignal.abort(new Error("Enough"));
  await expect(guards.prepareRemoval(component, guarded, ended)).rejects.toThrow("Enough");
});

test("a removal asks nothing of a cluster with second owners", async () => {
  const { spoke, guards, component, guarded } = flagged("TwinOwner");
  await guards.prepareRemoval(component, guarded, signal);
  expect(spoke.objects.requests).toBe(0);
});

test("the condition is off where nothing is guarded, and stays while nothing is known", async () => {
  const { guards, component, guarded } = flagged("Policy");
  const { clusterProfileRef: _, ...spec } = component.spec;
  expect(guards.protectionOf({ ...component, spec })).toBe("off");
  expect(guards.protectionOf(component)).toBeUndefined();
  guards.protect(component, guarded);
  expect(guards.protectionOf(component)).toMatchObject({ reason: "Probing" });
  const ready = { type: "Ready", status: "True" } as const;
  const told = { type: "AnchorProtected", status: "True" } as const;
  const conditions = (...all: readonly (typeof ready | typeof told)[]) => ({
    ...component,
    status: { conditions: all },
  });
  expect(guards.protectionOf(conditions(ready))).toMatchObject({ reason: "Probing" });
  expect(guards.protectionOf(conditions(ready, told))).toBeUndefined();
  const none = flagged("None");
  expect(none.guards.protect(none.component, none.guarded)).toBeUndefined();
  expect(none.guards.protectionOf(none.component)).toBe("off");
});

test("a component is not protected any more, and the others of its cluster are", async () => {
  const { clock, guards, component, guarded } = flagged("Policy");
  const guard = guards.protect(component, guarded);
  await clock.advance(minute);
  guards.stopProtecting({ ...eventing("other"), spec: component.spec });
  expect(guard?.isAtWork).toBe(true);
  guards.stopProtecting(component);
  expect(guard?.isAtWork).toBe(false);
});
