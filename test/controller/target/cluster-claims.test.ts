import { beforeEach, expect, test } from "vitest";

import { ConnectionError } from "../../../access/kube/api-error.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ClusterProfileRef } from "../../../api/component.ts";
import {
  ClusterClaims,
  type ClusterClaimsOptions,
} from "../../../controller/target/cluster-claims.ts";
import { apiError } from "../../support/api-error.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { silentLog } from "../../support/silent-log.ts";

const { signal } = new AbortController();
const a = { namespace: "fleet", name: "a" };
const b = { namespace: "fleet", name: "b" };
const never = (): boolean => false;
let hub: MemoryHub;
let freed: string[];

beforeEach(() => {
  hub = new MemoryHub();
  freed = [];
});

function noteFree({ name }: ClusterProfileRef): void {
  freed.push(name);
}

type Writer = ReturnType<ClusterClaimsOptions["hubFor"]>;

/** The claims as one replica sees them. */
function replica(writer: Writer = hub): ClusterClaims {
  const options = { hub, hubFor: () => writer, namespace: "knfleet-system", log: silentLog };
  return new ClusterClaims({ clock: systemClock, ...options, onFree: noteFree }, signal);
}

/** A connection to the cluster with a uid. */
function to(uid: string, end: AbortSignal = signal) {
  return { clusterId: () => Promise.resolve(uid), signal: end };
}

function claims(): Readonly<Record<string, unknown>> {
  const all = hub.all("Lease").map((lease) => {
    const { holderIdentity }: { holderIdentity?: unknown } = { ...Object(lease["spec"]) };
    return [lease.metadata.name.replace("knfleet-cluster-", ""), holderIdentity];
  });
  return Object.fromEntries(all);
}

const refused = { reason: "DuplicateComponent" };

test("the first ClusterProfile has the cluster, and the second is refused, also by another replica", async () => {
  const [one, other] = [replica(), replica()];
  await one.claim(a, to("x"), signal);
  await expect(other.claim(b, to("x"), signal)).rejects.toMatchObject(refused);
  await expect(one.claim(b, to("x"), signal)).rejects.toMatchObject(refused);
  expect(claims()).toEqual({ x: "fleet/a" });
});

test("of two ClusterProfiles that claim a cluster at once, one has it", async () => {
  const claiming = [replica().claim(a, to("x"), signal), replica().claim(b, to("x"), signal)];
  const results = (await Promise.allSettled(claiming)).map(({ status }) => status);
  expect(results.toSorted((one, two) => one.localeCompare(two))).toEqual(["fulfilled", "rejected"]);
});

test("a ClusterProfile has its cluster also after a restart, without a write", async () => {
  await replica().claim(a, to("x"), signal);
  const { version } = hub;
  await replica().claim(a, to("x"), signal);
  expect(hub.version).toBe(version);
});

test("a connection asks once", async () => {
  const one = replica();
  const connection = to("x");
  await Promise.all([one.claim(a, connection, signal), one.claim(a, connection, signal)]);
  const { requests } = hub;
  await one.claim(a, connection, signal);
  expect(hub.requests).toBe(requests);
});

test("a ClusterProfile that leads to another cluster gives the first one up", async () => {
  const one = replica();
  await one.claim(a, to("x"), signal);
  await one.claim(a, to("y"), signal);
  expect(claims()).toEqual({ y: "fleet/a" });
});

test("a cluster is free when the last component of its ClusterProfile is gone, and who was refused learns it", async () => {
  const [one, other] = [replica(), replica()];
  await one.claim(a, to("x"), signal);
  await expect(other.claim(b, to("x"), signal)).rejects.toMatchObject(refused);
  await one.release(a, never, signal);
  await expect.poll(() => freed).toEqual(["b"]);
  await other.claim(b, to("x"), signal);
  expect(claims()).toEqual({ x: "fleet/b" });
});

test("a cluster that is used again stays claimed", async () => {
  const one = replica();
  await one.claim(a, to("x"), signal);
  await one.release(a, (key) => key === "fleet/a", signal);
  expect(claims()).toEqual({ x: "fleet/a" });
});

test("a claim that follows a release is made anew", async () => {
  const one = replica();
  const connection = to("x");
  await one.claim(a, connection, signal);
  await Promise.all([one.release(a, never, signal), one.claim(a, connection, signal)]);
  await one.claim(a, connection, signal);
  expect(claims()).toEqual({ x: "fleet/a" });
});

test("what a crashed replica left claimed is given up, but nothing of other replicas", async () => {
  await replica().claim(a, to("x"), signal);
  await replica().claim(b, to("y"), signal);
  await replica().sweep({ isServed: (key) => key === "fleet/a", isUsed: never }, signal);
  expect(claims()).toEqual({ y: "fleet/b" });
});

test("the end of the attempt that began a claim does not end it for others", async () => {
  const one = replica();
  const connection = to("x");
  const attempt = new AbortController();
  const first = one.claim(a, connection, attempt.signal);
  const second = one.claim(a, connection, signal);
  attempt.abort(new DOMException("The component has changed", "AbortError"));
  await expect(first).rejects.toThrow("The component has changed");
  await second;
  expect(claims()).toEqual({ x: "fleet/a" });
});

test("a claim that failed is tried again", async () => {
  const one = replica();
  const connection = to("x");
  hub.fail();
  await expect(one.claim(a, connection, signal)).rejects.toMatchObject({
    reason: "ClusterProfileUnavailable",
  });
  hub.work();
  await one.claim(a, connection, signal);
  expect(claims()).toEqual({ x: "fleet/a" });
});

const lost = new ConnectionError("reset", "https://hub broke the connection");
const denied =
  'leases.coordination.k8s.io is forbidden: User "u" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "knfleet-system"';

test.each([
  {
    what: "a missing right",
    error: apiError(403, denied),
    reason: "ApplyFailed",
    says: /^\[Forbidden\] The hub: .* lacks the right to create leases/,
  },
  {
    what: "a quota",
    error: apiError(403, "leases is forbidden: exceeded quota: few, requested: x"),
    reason: "ApplyFailed",
    says: /^The hub: .* the quota few is exhausted$/,
  },
  {
    what: "a lost connection",
    error: lost,
    reason: "ClusterProfileUnavailable",
    says: /^The hub: https:\/\/hub broke the connection$/,
  },
])("$what of the hub is told of the hub", async ({ error, reason, says }) => {
  const writer: Writer = {
    get: (...given) => hub.get(...given),
    create: () => Promise.reject(error),
    remove: (...given) => hub.remove(...given),
  };
  const message = expect.stringMatching(says);
  const claiming = replica(writer).claim(a, to("x"), signal);
  await expect(claiming).rejects.toMatchObject({ reason, message });
});

test("what the cluster does not tell is told of the cluster", async () => {
  const connection = { clusterId: () => Promise.reject(lost), signal };
  await expect(replica().claim(a, connection, signal)).rejects.toBe(lost);
});

test("a claim that somebody deletes is made again by its holder, which need not connect again", async () => {
  const one = replica();
  const connection = to("x");
  await one.claim(a, connection, signal);
  hub.drop("Lease", "knfleet-cluster-x");
  await expect.poll(() => freed).toEqual(["a"]);
  await one.claim(a, connection, signal);
  expect(claims()).toEqual({ x: "fleet/a" });
});

test("a claim that somebody gives to another ClusterProfile is no longer its holder's", async () => {
  const one = replica();
  const connection = to("x");
  await one.claim(a, connection, signal);
  const claim = hub.find("Lease", "knfleet-cluster-x");
  hub.edit("Lease", "knfleet-cluster-x", { ...claim, spec: { holderIdentity: "fleet/b" } });
  await expect.poll(() => freed).toEqual(["a"]);
  await expect(one.claim(a, connection, signal)).rejects.toThrow(
    /ClusterProfile fleet\/b leads to/,
  );
});

test("of its own removals of claims a holder is not told", async () => {
  const one = replica();
  await one.claim(a, to("x"), signal);
  await one.claim(a, to("y"), signal);
  await one.release(a, never, signal);
  await expect(one.claim(b, to("y"), signal)).resolves.toBeUndefined();
  expect(freed).toEqual([]);
});
