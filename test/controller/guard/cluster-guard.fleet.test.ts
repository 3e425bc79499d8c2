import { afterAll, beforeAll, expect, test } from "vitest";

import { connectHub, type HubConnection } from "../../../access/hub/hub.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { recordAt } from "../../../api/fields.ts";
import { knownResource } from "../../../api/resources.ts";
import { ClusterGuard } from "../../../controller/guard/cluster-guard.ts";
import type { ClusterGuardOptions } from "../../../controller/guard/guard-state.ts";
import { isGuardInstalled } from "../../../controller/guard/policy-objects.ts";
import { guardPolicyOf, HubUsers, policyNameOf } from "../../../controller/guard/policy.ts";
import { guardAnnotations, guardLabels } from "../../../installation/anchor.ts";
import type { Cluster } from "../../fleet/cluster.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { connectAs, eventing } from "../hand-made-installation.ts";
import { mortal } from "./mortal-client.ts";

const fleet = useFleet({ spokes: [{ kwok: false }] });
const { signal } = new AbortController();
const apiVersion = "admissionregistration.k8s.io/v1";
const hubs = { a: "aaaaaaaa-0000", b: "bbbbbbbb-0000", c: "cccccccc-0000" };
const anchorKey = { namespace: "default", name: "anchor" };
const trial = "/api/v1/namespaces/default/configmaps?dryRun=All";

const marksOf = (hubId: string) => ({
  "operator.knative.dev/protected": "true",
  "operator.knative.dev/hub-id": hubId,
});

let cluster: Cluster;
let spoke: HubConnection;
let masters: HubConnection;

beforeAll(async () => {
  cluster = fleet().spoke(0);
  spoke = await connectAs(cluster, "guard", { clusterRoles: ["knfleet-spoke"] });
  const login = { kubeconfig: cluster.adminKubeconfigPath, environment: {}, userAgent: "guard" };
  masters = await connectHub({ clock: systemClock, ...login });
});
afterAll(async () => {
  await Promise.all([spoke, masters].map((hub) => hub[Symbol.asyncDispose]()));
});

/** A guard for an anchor in the namespace `default`; it ends when it is disposed. */
function guardOf(
  hubId: string,
  {
    client = spoke.client,
    ...options
  }: Partial<ClusterGuardOptions> & { client?: HubConnection["client"] } = {},
  isNew = false,
) {
  const end = new AbortController();
  const guard = new ClusterGuard(
    { client, fieldManager: "knfleet-guard", signal: end.signal },
    {
      clock: systemClock,
      log: silentLog,
      hubId,
      users: new HubUsers(),
      protection: "Auto",
      crds: false,
      onChange: () => undefined,
      onWithdrawn: () => undefined,
      ...options,
    },
  );
  const component = eventing("default");
  guard.protect({ component, anchor: anchorKey, isNew });
  return { guard, component, [Symbol.dispose]: () => end.abort(new Error("The test is over")) };
}

/** Waits as long as a busy machine may take. */
function until(what: string, check: () => Promise<boolean> | boolean): Promise<boolean> {
  return waitFor(what, check, { timeoutMs: 90_000 });
}

/** Waits until the API server was seen to refuse. */
function enforced(...lives: readonly { readonly guard: ClusterGuard }[]): Promise<boolean> {
  return until("the guard to be proven", () =>
    lives.every(({ guard }) => guard.protection.reason === "Enforced"),
  );
}

async function names(kind: string): Promise<readonly string[]> {
  const found = await cluster.admin.list({ apiVersion, kind });
  return found.map(({ metadata }) => metadata.name).filter((name) => name.includes("-0000."));
}

const every = Array.from({ length: 7 }, (_, index) => index);

test("11.14: a guard is complete, and gone, whatever write of its making or removing was a process's last", async () => {
  const ended = every.map(async (lastWrite) => {
    const hubId = `dying-${lastWrite}-0000`;
    const life = guardOf(hubId, { crds: true, client: mortal(spoke.client, lastWrite) });
    await life.guard.waitUntilOpen(signal).catch(() => undefined);
    life[Symbol.dispose]();
    const next = guardOf(hubId, { crds: true });
    await enforced(next);
    const there = await names("ValidatingAdmissionPolicyBinding");
    expect(there.filter((name) => name.includes(hubId))).toHaveLength(3);
    next[Symbol.dispose]();

    const last = guardOf(hubId, { crds: true, client: mortal(spoke.client, lastWrite) });
    await last.guard.waitUntilOpen(signal);
    await last.guard.retire(last.component, signal).catch(() => undefined);
    last[Symbol.dispose]();
    using heir = guardOf(hubId, { crds: true });
    // A removal that is taken up again asks that before anything else, and has nothing to do after the sixth.
    expect(await isGuardInstalled(spoke.client, hubId, signal)).toBe(lastWrite < 6);
    await heir.guard.needsSecondOwner(signal);
    await heir.guard.retire(heir.component, signal);
  });
  await Promise.all(ended);
  for (const kind of ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]) {
    expect((await names(kind)).filter((name) => name.includes("dying"))).toEqual([]);
  }
});

test("after a restart policies that are a minute old are proven by one round of probes", async () => {
  using first = guardOf(hubs.a);
  await enforced(first);
  const probes: string[] = [];
  const { client } = spoke;
  const later: KubeClient = {
    ...client,
    request: async (method, path, ...rest) => {
      if (path.includes("dryRun=All")) probes.push(`${method} ${path}`);
      const answer = await client.request(method, path, ...rest);
      if (!path.endsWith("/selfsubjectreviews")) return answer;
      const creationTimestamp = new Date(Date.now() + 61_000).toISOString();
      return { ...recordAt(answer), metadata: { creationTimestamp } };
    },
  };
  using second = guardOf(hubs.a, { client: later });
  await enforced(second);
  expect(probes.toSorted()).toEqual([
    "POST /api/v1/namespaces/default/configmaps?dryRun=All",
    "POST /api/v1/namespaces?dryRun=All",
  ]);
  await second.guard.retire(second.component, signal);
});

test("11.17: a confirmation on a namespace that nobody used for 15 minutes is withdrawn", async () => {
  const withdrawn: string[] = [];
  const quarter = 900_000;
  const hasty: typeof systemClock = {
    ...systemClock,
    after: (ms, callback) => systemClock.after(ms === quarter ? 200 : ms, callback),
  };
  using one = guardOf(hubs.a, {
    clock: hasty,
    recheckMs: 300,
    onWithdrawn: ({ kind, name }, of) =>
      withdrawn.push(`${kind} ${name} of ${of.map(({ metadata }) => metadata.name).join()}`),
  });
  await enforced(one);
  const house = { apiVersion: "v1", kind: "Namespace", name: "default" };
  const resource = knownResource("v1", "Namespace");
  const label = (value: string | null) => {
    const patch = { metadata: { labels: { [guardLabels.namespace]: value } } };
    return spoke.client.patch({ resource, name: "default" }, patch, {}, signal);
  };
  await label(hubs.a);
  const uid = (await cluster.admin.get(house))?.metadata.uid ?? "";
  const annotations = { [guardAnnotations.confirmDeletion]: uid };
  await cluster.admin.patch(house, { metadata: { annotations } });
  const isThere = async (): Promise<boolean> =>
    (await cluster.admin.get(house))?.metadata.annotations?.[guardAnnotations.confirmDeletion] !==
    undefined;
  await until("the confirmation to be withdrawn", async () => !(await isThere()));
  await until("that to be told", () => withdrawn.length > 0);
  expect(withdrawn).toEqual(["Namespace default of default"]);
  await label(null);
  await one.guard.retire(one.component, signal);
});

test("two hubs guard one spoke, and the end of one leaves the other's guard", async () => {
  using first = guardOf(hubs.a, { crds: true });
  using second = guardOf(hubs.b);
  await enforced(first, second);
  expect(await names("ValidatingAdmissionPolicyBinding")).toHaveLength(5);
  await first.guard.retire(first.component, signal);
  const left = ["anchor-guard", "namespace-guard"] as const;
  const wanted = left.map((guard) => policyNameOf(guard, hubs.b));
  expect((await names("ValidatingAdmissionPolicyBinding")).toSorted()).toEqual(wanted);
  expect((await names("ValidatingAdmissionPolicy")).toSorted()).toEqual(wanted);
  expect(await second.guard.needsSecondOwner(signal)).toBe(false);
});

test("an installation after the end starts a new guard", async () => {
  using one = guardOf(hubs.a);
  await one.guard.waitUntilOpen(signal);
  await one.guard.retire(one.component, signal);
  one.guard.protect({ component: one.component, anchor: anchorKey });
  await enforced(one);
  await one.guard.retire(one.component, signal);
  expect(await names("ValidatingAdmissionPolicy")).not.toContain(
    policyNameOf("anchor-guard", hubs.a),
  );
});

test("an anchor that another process made keeps the guard", async () => {
  using one = guardOf(hubs.a);
  await one.guard.waitUntilOpen(signal);
  const anchor = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "default", name: "others", annotations: marksOf(hubs.a) },
  };
  const resource = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true };
  await spoke.client.create({ resource, namespace: "default" }, anchor, {}, signal);
  await one.guard.retire(one.component, signal);
  expect(await names("ValidatingAdmissionPolicy")).toContain(policyNameOf("anchor-guard", hubs.a));
  await spoke.client.remove({ resource, namespace: "default", name: "others" }, {}, signal);
});

test("another user of the controller is written into the policy in place, without a gap", async () => {
  const name = policyNameOf("anchor-guard", hubs.c);
  const owner = { hubId: hubs.c, hubUsers: ["somebody-else"] };
  const { policy, binding } = guardPolicyOf("anchor-guard", owner);
  await cluster.admin.apply(policy);
  await cluster.admin.apply(binding);
  const before = await cluster.admin.get({ ...policy, name });
  const annotations = marksOf(hubs.c);
  const attempt = async (): Promise<boolean> => {
    try {
      await cluster.admin.request("POST", trial, { metadata: { name: "tried", annotations } });
      return true;
    } catch {
      return false;
    }
  };
  await until("the first text to be enforced", async () => !(await attempt()));
  using one = guardOf(hubs.c);
  const over = new AbortController();
  const allowed: boolean[] = [];
  const trying = (async () => {
    while (!over.signal.aborted) allowed.push(await attempt());
  })();
  await enforced(one);
  over.abort();
  await trying;
  expect(allowed.length).toBeGreaterThan(20);
  expect(allowed).not.toContain(true);
  const after = await cluster.admin.get({ ...policy, name });
  expect(after?.metadata.uid).toBe(before?.metadata.uid);
  const [isController] = [valueAt(after, "spec", "variables")].flat();
  expect(JSON.stringify(isController)).toContain("system:serviceaccount:");
  await one.guard.retire(one.component, signal);
});

test("two identities of one hub on one cluster are both let in, and nobody else is", async () => {
  await using other = await connectAs(cluster, "guard-two", { clusterRoles: ["knfleet-spoke"] });
  const users = new HubUsers();
  using one = guardOf(hubs.a, { users });
  using two = guardOf(hubs.a, { users, client: other.client });
  await enforced(one, two);
  const anchor = { metadata: { name: "tried", annotations: marksOf(hubs.a) } };
  const senders = [spoke.client, other.client, masters.client];
  await until("both to be let in", async () => {
    const sent = senders.map((client) => client.request("POST", trial, anchor, signal));
    const answers = await Promise.allSettled(sent);
    return answers.map(({ status }) => status).join() === "fulfilled,fulfilled,rejected";
  });
  await enforced(one, two);
  expect(one.guard.protection).toEqual(two.guard.protection);
  two[Symbol.dispose]();
  await one.guard.retire(one.component, signal);
});

test("a controller that comes as system:masters says that its identity is shared", async () => {
  using one = guardOf(hubs.a, { client: masters.client });
  await until("it to be told", () => one.guard.protection.reason !== "Probing");
  expect(one.guard.protection).toMatchObject({
    reason: "SharedIdentity",
    message: expect.stringContaining("system:masters"),
  });
  await one.guard.retire(one.component, signal);
});

test("a binding that is deleted is there again, and told of, whoever sees it first", async () => {
  const said: string[] = [];
  using one = guardOf(hubs.a, {
    recheckMs: 500,
    onChange: () => said.push(one.guard.protection.reason),
  });
  await enforced(one);
  const name = policyNameOf("anchor-guard", hubs.a);
  await cluster.admin.remove({ apiVersion, kind: "ValidatingAdmissionPolicyBinding", name });
  await until(
    "the guard to be back",
    () => said.includes("BindingMissing") && said.at(-1) === "Enforced",
  );
  expect(await names("ValidatingAdmissionPolicyBinding")).toContain(name);
  await one.guard.retire(one.component, signal);
});

test("an anchor may be made before the policies are proven, and who expects none looks at those that are there", async () => {
  using first = guardOf(hubs.a);
  await first.guard.waitUntilOpen(signal);
  expect(first.guard.protection.reason).toBe("Probing");
  const kind = "ValidatingAdmissionPolicy";
  expect(await names(`${kind}Binding`)).toContain(policyNameOf("anchor-guard", hubs.a));
  const before = await cluster.admin.list({ apiVersion, kind });
  first[Symbol.dispose]();
  using second = guardOf(hubs.a, {}, true);
  await enforced(second);
  const after = await cluster.admin.list({ apiVersion, kind });
  expect(after.map((one) => one["spec"])).toEqual(before.map((one) => one["spec"]));
  await second.guard.retire(second.component, signal);
});

test("with a right to nothing, an install goes on with a second owner, or not at all", async () => {
  await using nobody = await connectAs(cluster, "nobody", {});
  using auto = guardOf(hubs.a, { client: nobody.client });
  await auto.guard.waitUntilOpen(signal);
  expect(auto.guard.protection.reason).toBe("PolicyForbidden");
  expect(await auto.guard.needsSecondOwner(signal)).toBe(true);
  using strict = guardOf(hubs.a, { client: nobody.client, protection: "Policy" });
  const { guard } = strict;
  await expect(guard.waitUntilOpen(signal)).rejects.toMatchObject({ reason: "AnchorUnprotected" });
  expect(await guard.needsSecondOwner(signal)).toBe(false);
});
