import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { keptLines } from "../../support/kept-lines.ts";
import { eventing } from "../hand-made-installation.ts";
import { apiError, guardOver, minute, recheck } from "./guard-over.ts";

const { signal } = new AbortController();

const forbidden = () => ({ create: () => Promise.reject(apiError(403)) });

test.each([
  { isNew: true, reason: "Enforced" },
  { isNew: false, reason: "NotEnforced" },
])("policies are read first unless nothing was ever installed: $isNew", async (row) => {
  const { clock, guard } = guardOver({
    changed: () => ({ get: () => Promise.reject(new Error("Nobody is to be asked")) }),
  });
  const anchor = { namespace: "a", name: "anchor" };
  guard.protect({ component: eventing("a"), anchor, isNew: row.isNew });
  await clock.advance(minute);
  expect(guard.protection.reason).toBe(row.reason);
});

test.each([
  { name: "the cluster is a failure of the cluster", error: apiError(500), level: "debug" },
  { name: "this program is an error", error: new TypeError("x is undefined"), level: "error" },
])("policies that are not installed because of $name", async ({ error, level }) => {
  const { log, lines } = keptLines();
  const { clock, protect } = guardOver({
    log,
    changed: () => ({ get: () => Promise.reject(error) }),
  });
  protect("a");
  await clock.advance(1);
  expect(lines.map((line) => line.split(":")[0])).toEqual([level]);
});

describe("a cluster on which the controller may not install policies", () => {
  test("gets a second owner where the flag leaves the choice, and is asked again in ten minutes", async () => {
    const { clock, spoke, guard, said, protect } = guardOver({
      protection: "Auto",
      changed: forbidden,
    });
    protect("a");
    await clock.advance(10 * minute - 1);
    expect(guard.protection).toEqual({
      reason: "PolicyForbidden",
      message:
        "No policies, the controller may not install policies there: a second owner keeps the objects when the anchor is deleted",
    });
    expect(await guard.needsSecondOwner(signal)).toBe(true);
    await guard.waitUntilOpen(signal);
    const { requests } = spoke.objects;
    await clock.advance(1);
    expect(spoke.objects.requests).toBeGreaterThan(requests);
    expect(said).toEqual(["PolicyForbidden"]);
  });

  test("gets no anchor where the flag asks for policies", async () => {
    const { clock, guard, protect } = guardOver({ changed: forbidden });
    protect("a");
    await clock.advance(minute);
    expect(guard.protection.reason).toBe("PolicyForbidden");
    expect(guard.protection.message).toMatch(/and --anchor-protection=Policy asks for them$/);
    await expect(guard.waitUntilOpen(signal)).rejects.toMatchObject({
      reason: "AnchorUnprotected",
    });
    expect(await guard.needsSecondOwner(signal)).toBe(false);
  });
});

/** A proven guard whose binding is deleted, and which the cluster refuses to look for so long. */
async function refusedFor(ms: number) {
  const { clock, spoke, guard, said, protect } = guardOver({
    protection: "Auto",
    changed: (client) => ({
      get: (...args) =>
        clock.now() < refusesUntil ? Promise.reject(apiError(403)) : client.get(...args),
    }),
  });
  let refusesUntil = 0;
  protect("a");
  await clock.advance(minute);
  refusesUntil = clock.now() + ms;
  const kind = "ValidatingAdmissionPolicyBinding";
  for (const { metadata } of spoke.objects.all(kind)) spoke.objects.drop(kind, metadata.name);
  await clock.advance(minute);
  return { clock, guard, said };
}

describe("policies that were proven, whose repair the cluster refuses", () => {
  test("are put right soon, without a second owner, where that was an API server that has just started", async () => {
    const { guard, said } = await refusedFor(10_000);
    expect(said).toEqual(["Enforced", "BindingMissing", "Enforced"]);
    expect(await guard.needsSecondOwner(signal)).toBe(false);
  });

  test("give way to a second owner where the right is gone", async () => {
    const { clock, guard, said } = await refusedFor(5 * minute);
    expect(said).toEqual(["Enforced", "PolicyForbidden"]);
    expect(await guard.needsSecondOwner(signal)).toBe(true);
    await clock.advance(10 * minute);
    expect(said).toEqual(["Enforced", "PolicyForbidden", "BindingMissing", "Enforced"]);
  });
});

test.each([
  { name: "says that it has no such kinds", answer: () => Promise.resolve({ resources: [] }) },
  { name: "knows no such group", answer: () => Promise.reject(apiError(404)) },
  {
    name: "has policies without bindings",
    answer: () => Promise.resolve({ resources: [{ name: "validatingadmissionpolicies" }] }),
  },
])("a cluster that $name gets a second owner, and is asked again", async ({ answer }) => {
  let isOld = true;
  const { clock, guard, protect } = guardOver({
    protection: "Auto",
    changed: (client) => ({
      get: (...args) => (isOld ? Promise.reject(apiError(404)) : client.get(...args)),
      request: (...args) => (isOld && args[1].endsWith("/v1") ? answer() : client.request(...args)),
    }),
  });
  protect("a");
  await clock.advance(0);
  expect(guard.protection.reason).toBe("NotSupported");
  expect(guard.protection.message).toMatch(/^No policies, the cluster does not serve them: /);
  expect(await guard.needsSecondOwner(signal)).toBe(true);
  isOld = false;
  await clock.advance(10 * minute - 1);
  expect(guard.protection.reason).toBe("NotSupported");
  await clock.advance(minute);
  expect(guard.protection.reason).toBe("Enforced");
});

test("a refusal is told as such where policies are served, or nobody can tell", async () => {
  const served = guardOver({ changed: () => ({ get: () => Promise.reject(apiError(404)) }) });
  const untold = guardOver({
    changed: (client) => ({
      get: () => Promise.reject(apiError(404)),
      request: (...args) =>
        args[1].endsWith("/v1") ? Promise.reject(apiError(500)) : client.request(...args),
    }),
  });
  for (const { clock, guard, protect } of [served, untold]) {
    protect("a");
    // oxlint-disable-next-line no-await-in-loop -- each has its own clock
    await clock.advance(0);
    const message = "The guard could not be installed";
    expect(guard.protection).toEqual({ reason: "NotEnforced", message });
  }
});

test("an API server that refuses no probe is not trusted, and gets anchors all the same", async () => {
  let isDeaf = true;
  const { clock, guard, said, protect } = guardOver({
    changed: (client) => ({
      request: (...args) =>
        isDeaf && args[1].includes("dryRun") ? Promise.resolve({}) : client.request(...args),
    }),
  });
  protect("a");
  await clock.advance(30_000);
  expect(said).toEqual([]);
  // Tries every half second: the first one after 30 s is the last.
  await clock.advance(1_000);
  expect(said).toEqual(["NotEnforced"]);
  expect(guard.protection.message).toBe(
    "The API server did not refuse an anchor of nobody for 30 s",
  );
  await guard.waitUntilOpen(signal);
  isDeaf = false;
  await clock.advance(10_000);
  expect(said).toEqual(["NotEnforced", "Enforced"]);
});

test("a guard that cannot be installed makes anchors wait, and is tried again with pauses that grow", async () => {
  const tries: number[] = [];
  let isAway = true;
  const { clock, guard, said, protect } = guardOver({
    protection: "Auto",
    changed: (client) => ({
      create: (...args) => {
        if (!isAway) return client.create(...args);
        if (tries.at(-1) !== clock.now()) tries.push(clock.now());
        return Promise.reject(new Error("The spoke is away"));
      },
    }),
  });
  protect("a");
  await clock.advance(10 * minute);
  expect(said).toEqual(["NotEnforced"]);
  await expect(guard.waitUntilOpen(signal)).rejects.toMatchObject({ reason: "AnchorUnprotected" });
  const pauses = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
  expect(pauses[0]).toBeLessThanOrEqual(1_500);
  expect(Math.max(...pauses)).toBeGreaterThan(10_000);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(40_000);
  isAway = false;
  await clock.advance(minute);
  expect(said).toEqual(["NotEnforced", "Enforced"]);
});

test.each([
  { name: "deleted", reason: "BindingMissing", kind: "ValidatingAdmissionPolicyBinding" },
  { name: "changed", reason: "Probing", kind: undefined },
])("policies that were $name are told until they are proven again", async ({ reason, kind }) => {
  const { clock, spoke, said, protect } = guardOver({});
  protect("a");
  await clock.advance(minute);
  if (kind === undefined) spoke.edit("denied as intended", "denied by mistake");
  else for (const { metadata } of spoke.objects.all(kind)) spoke.objects.drop(kind, metadata.name);
  await clock.advance(minute);
  expect(said).toEqual(["Enforced", reason, "Enforced"]);
});

test("a cluster that would let an anchor be deleted is told, and proven anew", async () => {
  let isDeaf = false;
  const { clock, guard, said, protect } = guardOver({
    changed: (client) => ({
      request: (...args) =>
        isDeaf && args[0] === "DELETE" ? Promise.resolve({}) : client.request(...args),
    }),
  });
  protect("a");
  await clock.advance(minute);
  isDeaf = true;
  await clock.advance(recheck);
  isDeaf = false;
  expect(said.slice(0, 2)).toEqual(["Enforced", "NotEnforced"]);
  await guard.waitUntilOpen(signal);
  await clock.advance(minute);
  expect(said.at(-1)).toBe("Enforced");
});

test("a guard that is to leave its cluster alone sends nothing more, and leaves the policies", async () => {
  const { clock, spoke, guard, withdrawn, protect } = guardOver({});
  protect("a");
  protect("b");
  await clock.advance(minute);
  guard.noteAnchor(confirmed("a"));
  guard.stopProtecting(eventing("a"));
  guard.stopProtecting(eventing("unknown"));
  expect(guard.isAtWork).toBe(true);
  guard.stopProtecting(eventing("b"));
  expect(guard.isAtWork).toBe(false);
  const { policy } = spoke;
  await clock.advance(0);
  const { requests } = spoke.objects;
  await clock.advance(3 * recheck);
  expect([spoke.objects.requests, spoke.policy, withdrawn]).toEqual([requests, policy, []]);
  expect(policy).toContain("denied as intended");
});

test("a second owner that the flag asks for needs nothing of the cluster", async () => {
  const { clock, spoke, guard, protect } = guardOver({ protection: "TwinOwner" });
  guard.prepare();
  protect("a");
  await clock.advance(minute);
  expect([spoke.objects.requests, spoke.writes, guard.isAtWork]).toEqual([0, 0, false]);
  expect(guard.protection.reason).toBe("TwinOwner");
  expect(await guard.needsSecondOwner(signal)).toBe(true);
  await guard.waitUntilOpen(signal);
  await guard.waitUntilSent(signal);
});

test("a second owner that the flag asks for serves also the next installation after the last one has left", async () => {
  const { guard, protect } = guardOver({ protection: "TwinOwner" });
  protect("a");
  guard.stopProtecting(eventing("a"));
  protect("b");
  await guard.waitUntilOpen(signal);
  expect(guard.protection.reason).toBe("TwinOwner");
});

/** The anchor of a component as a user has confirmed its deletion. */
function confirmed(word: string, kind: "ConfigMap" | "Namespace" = "ConfigMap"): KubeObject {
  const annotations = { "operator.knative.dev/confirm-deletion": "u1" };
  const [name, place] =
    kind === "Namespace" ? [word, {}] : [`anchor-of-${word}`, { namespace: "shared" }];
  const metadata = { ...place, name, uid: `${kind} ${word}`, resourceVersion: "1", annotations };
  return { apiVersion: "v1", kind, metadata };
}

test("a withdrawn confirmation concerns the component of the anchor, or all in the namespace", async () => {
  const { clock, spoke, guard, withdrawn, protect } = guardOver({
    changed: () => ({ patch: () => Promise.resolve(confirmed("a")) }),
  });
  protect("a", "shared");
  protect("b", "shared");
  protect("c", "other");
  guard.noteAnchor(confirmed("b"));
  await clock.advance(16 * minute);
  expect(withdrawn).toEqual(["ConfigMap shared/anchor-of-b of b"]);
  // The recheck reads the namespaces.
  spoke.objects.edit("Namespace", "shared", confirmed("shared", "Namespace"));
  await clock.advance(15 * minute + recheck);
  expect(withdrawn.slice(1)).toEqual(["Namespace shared of a,b"]);
});
