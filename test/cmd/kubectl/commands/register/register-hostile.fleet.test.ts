import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import { listAt, recordAt } from "../../../../../api/fields.ts";
import type { ObjectKey } from "../../../../../api/kubernetes.ts";
import { builtInProviderFile } from "../../../../e2e/built-in-access.ts";
import type { Cluster } from "../../../../fleet/fleet.ts";
import { valueAt } from "../../../../fleet/json-record.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { type Ran, runOnFleet } from "../../run-knfleet.ts";

// What a tenant of the hub, or of the cluster, has written before an administrator registers or unregisters it.
const fleet = useFleet({ spokes: 1 });
const registrar = { "app.kubernetes.io/managed-by": "knfleet-register" };
const rbac = "rbac.authorization.k8s.io/v1";
const namespace: ObjectKey = { apiVersion: "v1", kind: "Namespace", name: "knfleet" };
const profile: ObjectKey = {
  apiVersion: clusterProfileApiVersion,
  kind: "ClusterProfile",
  namespace: "fleet",
  name: "eu-1",
};
const secret: ObjectKey = {
  apiVersion: "v1",
  kind: "Secret",
  namespace: "fleet-credentials",
  name: "eu-1",
};

let providerFile: string;
beforeAll(async () => {
  providerFile = await builtInProviderFile(fleet(), { name: "hostile" });
  for (const name of ["fleet", "fleet-credentials", "shop"]) {
    await fleet().hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
}, 600_000);

afterEach(async () => {
  const { hub } = fleet();
  const { admin } = fleet().spoke(0);
  await hub.admin.remove(profile);
  await hub.admin.remove(secret);
  await admin.remove({ apiVersion: rbac, kind: "ClusterRoleBinding", name: "knfleet-hub" });
  await admin.remove(namespace);
  await waitFor("the namespace to be gone", async () => (await admin.get(namespace)) === undefined);
});

function knfleet(...args: readonly string[]): Promise<Ran> {
  return runOnFleet(fleet(), providerFile, [...args, "--from-context", "spoke-1", "--yes"]);
}

/** The uid by which `register` knows a cluster. */
async function uidOf({ admin }: Cluster): Promise<string> {
  const system = await admin.get({ apiVersion: "v1", kind: "Namespace", name: "kube-system" });
  return system?.metadata.uid ?? "";
}

/** A ClusterProfile with what a registration would have noted on it. */
async function claimProfile(annotations: Readonly<Record<string, string>>): Promise<void> {
  const { apiVersion, kind, name } = profile;
  await fleet().hub.admin.apply({
    apiVersion,
    kind,
    metadata: { namespace: "fleet", name, annotations },
    spec: { clusterManager: { name: "knfleet-register" }, displayName: "x\u001b[31m\u202e" },
  });
}

async function spokeState(): Promise<readonly string[]> {
  const { admin } = fleet().spoke(0);
  const lists = await Promise.all([
    admin.list({ apiVersion: "v1", kind: "ServiceAccount", namespace: "knfleet" }),
    admin.list({ apiVersion: "v1", kind: "Secret", namespace: "knfleet" }),
    admin.list({ apiVersion: rbac, kind: "ClusterRoleBinding" }),
  ]);
  return lists
    .flat()
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.includes("knfleet"));
}

function expectPlain({ stdout, stderr }: Ran): void {
  const said = `${stdout}${stderr}`;
  const bad = ["Internal error", "TypeError", "\u001b", "\u202e"];
  expect(bad.filter((text) => said.includes(text))).toEqual([]);
}

describe("what somebody noted on a ClusterProfile in the name of register", () => {
  test.each([
    {
      name: "an account that register did not make",
      what: "service-account",
      value: "knfleet/default",
    },
    { name: "a life that ends before it begins", what: "token-lifetime", value: "-5s" },
    { name: "a life without end", what: "token-lifetime", value: `${"9".repeat(400)}h` },
  ])("with $name makes register fail without a trace, or does nothing", async ({ what, value }) => {
    const cluster = await uidOf(fleet().spoke(0));
    await claimProfile({ [`knfleet.dev/${what}`]: value, "knfleet.dev/cluster-uid": cluster });
    const ran = await knfleet("register", "eu-1");
    expectPlain(ran);
    expect(ran.exitCode).toBeOneOf([0, 2]);
    const isDone = ran.exitCode === 0;
    expect((await fleet().hub.admin.get(secret)) !== undefined).toBe(isDone);
    expect(isDone ? [] : await spokeState()).toEqual([]);
    expect(isDone ? "error: " : ran.stderr).toMatch(/^error: /m);
    expect(ran.stderr).not.toContain("left there");
  });

  test("sends no token to another server than that of the context", async () => {
    const spoke = fleet().spoke(0);
    await claimProfile({
      "knfleet.dev/spoke-server": "https://127.0.0.1:1",
      "knfleet.dev/cluster-uid": await uidOf(spoke),
    });
    const ran = await knfleet("register", "eu-1");
    expectPlain(ran);
    expect(ran.exitCode).toBe(0);
    const [way] = listAt(
      recordAt(await fleet().hub.admin.get(profile), "status"),
      "accessProviders",
    );
    expect(valueAt(way, "cluster", "server")).toBe(spoke.server);
  });

  test("lets unregister delete no Secret and no account of others", async () => {
    const { admin } = fleet().hub;
    const theirs = { apiVersion: "v1", kind: "Secret", namespace: "shop", name: "shop" };
    const metadata = { namespace: "shop", name: "shop", labels: registrar };
    await admin.apply({ apiVersion: "v1", kind: "Secret", metadata });
    const spoke = fleet().spoke(0).admin;
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      namespace: "kube-system",
      name: "shop",
    };
    const { apiVersion, kind, ...place } = account;
    await spoke.apply({ apiVersion, kind, metadata: { ...place, labels: registrar } });
    await claimProfile({
      "knfleet.dev/cluster-uid": await uidOf(fleet().spoke(0)),
      "knfleet.dev/service-account": "kube-system/shop",
      "knfleet.dev/credential-secret": "shop/shop",
    });
    expectPlain(await knfleet("unregister", "fleet/eu-1"));
    expect(await admin.get(theirs)).toBeDefined();
    expect(await spoke.get(account)).toBeDefined();
  });
});

describe("on a cluster", () => {
  test("a quota that takes no Secret leaves nothing of a registration", async () => {
    const { admin } = fleet().spoke(0);
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "knfleet" } });
    await admin.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { namespace: "knfleet", name: "none" },
      spec: { hard: { "count/secrets": "0" } },
    });
    const ran = await knfleet("register", "eu-1");
    expectPlain(ran);
    expect(ran).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("exceeded quota") });
    expect(await spokeState()).toEqual([]);
    expect(await fleet().hub.admin.get(profile)).toBeUndefined();
  });

  test("a finalizer of somebody else on the account is named by unregister, and register waits for nobody", async () => {
    const { admin } = fleet().spoke(0);
    expect((await knfleet("register", "eu-1")).exitCode).toBe(0);
    const account = {
      ...namespace,
      kind: "ServiceAccount",
      namespace: "knfleet",
      name: "knfleet-hub",
    };
    await admin.patch(account, { metadata: { finalizers: ["example.com/held"] } });
    const ran = await knfleet("unregister", "fleet/eu-1");
    expectPlain(ran);
    expect(ran.stderr).toContain(
      "warning: ServiceAccount knfleet/knfleet-hub of the cluster is deleted when its finalizers are gone: example.com/held\n",
    );
    const again = await knfleet("register", "eu-1");
    expect(again.stderr).toContain("error: Being deleted on the cluster: Namespace knfleet");
    await admin.patch(account, { metadata: { finalizers: null } });
  });
});
