import { beforeAll, describe, expect, test } from "vitest";

import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import { objectId } from "../../../../../api/keys.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../../../../api/kubernetes.ts";
import { builtInProviderFile } from "../../../../e2e/built-in-access.ts";
import { valueAt } from "../../../../fleet/json-record.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { type Ran, runOnFleet } from "../../run-knfleet.ts";

const fleet = useFleet({ spokes: 1 });
const rbac = "rbac.authorization.k8s.io/v1";
const again: ObjectKey = {
  apiVersion: clusterProfileApiVersion,
  kind: "ClusterProfile",
  namespace: "fleet",
  name: "again",
};

let providerFile: string;
let byHand: readonly string[];
beforeAll(async () => {
  const { hub } = fleet();
  providerFile = await builtInProviderFile(fleet(), { name: "register" });
  await hub.admin.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "fleet-credentials" },
  });
  await setUpByHand();
  byHand = await identity();
}, 600_000);

/** Sections 1 to 3 of docs/access.md: namespace, ServiceAccount, binding and token on the spoke, Secret and ClusterProfile on the hub. */
async function setUpByHand(): Promise<void> {
  const spoke = fleet().spoke(0);
  const account = { namespace: "knfleet", name: "knfleet-hub" };
  await fleet().addProfile(spoke, {
    plugin: "secretreader",
    via: "direct",
    identity: account,
  });
  await spoke.admin.create({
    apiVersion: rbac,
    kind: "ClusterRoleBinding",
    metadata: { name: account.name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "knfleet-spoke" },
    subjects: [{ kind: "ServiceAccount", ...account }],
  });
  const token = { apiVersion: "v1", kind: "Secret" };
  const named = { namespace: "knfleet", name: "knfleet-hub-token" };
  await spoke.admin.create({
    ...token,
    metadata: {
      ...named,
      annotations: { "kubernetes.io/service-account.name": account.name },
    },
    type: "kubernetes.io/service-account-token",
  });
  const standard = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    namespace: "knfleet",
    name: "default",
  };
  await waitFor("what Kubernetes itself adds", async () => {
    const secret = await spoke.admin.get({ ...token, ...named });
    const hasToken = valueAt(secret, "data", "token") !== undefined;
    return hasToken && (await spoke.admin.get(standard)) !== undefined;
  });
}

/** Every object of the spoke that register could write, or unregister delete. */
async function objects(): Promise<readonly KubeObject[]> {
  const { admin } = fleet().spoke(0);
  const space = { apiVersion: "v1", kind: "Namespace", name: "knfleet" };
  const role = { apiVersion: rbac, kind: "ClusterRole", name: "knfleet-spoke" };
  const lists = await Promise.all([
    admin.list({ apiVersion: "v1", kind: "ServiceAccount", namespace: "knfleet" }),
    admin.list({ apiVersion: "v1", kind: "Secret", namespace: "knfleet" }),
    admin.list({ apiVersion: rbac, kind: "ClusterRoleBinding" }),
    Promise.all([space, role].map(async (key) => (await admin.get(key)) ?? [])),
  ]);
  return lists.flat(2);
}

/** Names and versions of these objects, and of the ClusterProfiles and credentials of the hub: a write changes the version. */
async function identity(): Promise<readonly string[]> {
  const { admin } = fleet().hub;
  const { apiVersion, kind } = again;
  const secrets = { apiVersion: "v1", kind: "Secret", namespace: "fleet-credentials" };
  const lists = await Promise.all([
    objects(),
    admin.list({ apiVersion, kind, namespace: "fleet" }),
    admin.list(secrets),
  ]);
  return lists
    .flat()
    .map((object) => `${objectId(keyOf(object))} ${object.metadata.resourceVersion}`);
}

function knfleet(...args: readonly string[]): Promise<Ran> {
  return runOnFleet(fleet(), providerFile, args);
}

const line = ["register", "again", "--from-context", "spoke-1", "--yes"];

describe("on a spoke whose identity was made by hand", () => {
  test("register is refused, names the profile of the cluster, and writes nothing", async () => {
    const { stderr, exitCode } = await knfleet(...line);
    expect(stderr).toContain("ServiceAccount knfleet/knfleet-hub");
    expect(stderr).toContain("ClusterProfile fleet/spoke-1");
    expect(stderr).toContain("--account knfleet-hub-2");
    expect(exitCode).toBe(2);
    expect(await identity()).toEqual(byHand);
    expect(await fleet().hub.admin.get(again)).toBeUndefined();
  });

  test("unregister of what was not registered deletes nothing", async () => {
    const { exitCode } = await knfleet("unregister", "again", "--yes");
    expect(exitCode).toBe(2);
    expect(await identity()).toEqual(byHand);
  });

  test("another account is registered beside it, and the profile of the cluster is named", async () => {
    const { stdout, stderr, exitCode } = await knfleet(...line, "--account", "knfleet-hub-2");
    expect(stderr).toMatch(/^warning: .*ClusterProfile fleet\/spoke-1/m);
    expect(stdout).toContain("ClusterProfile fleet/again is registered");
    expect(exitCode).toBe(0);
    expect(await identity()).toEqual(expect.arrayContaining([...byHand]));
    const made = (await objects()).filter(
      ({ metadata }) => metadata.labels?.["app.kubernetes.io/managed-by"] === "knfleet-register",
    );
    expect(made.map((object) => object.kind).toSorted()).toEqual([
      "ClusterRoleBinding",
      "Secret",
      "ServiceAccount",
    ]);
  });

  test("unregister takes that away again, and nothing else", async () => {
    const { stderr, exitCode } = await knfleet("unregister", "again", "--yes");
    expect(stderr).toMatch(/^warning: ClusterProfile fleet\/spoke-1 leads to the same cluster/m);
    expect(exitCode).toBe(0);
    expect(await fleet().hub.admin.get(again)).toBeUndefined();
    expect(await identity()).toEqual(byHand);
  });

  test("what the caller may not read is a missing right, and not absent", async () => {
    const spoke = fleet().spoke(0);
    const { token } = await spoke.serviceAccountToken({
      namespace: "default",
      name: "half-blind",
      rules: [
        { apiGroups: ["*"], resources: ["namespaces", "secrets", "clusterroles"], verbs: ["*"] },
        {
          apiGroups: ["*"],
          resources: ["serviceaccounts", "clusterrolebindings"],
          verbs: ["create", "patch"],
        },
      ],
    });
    const kubeconfig = await spoke.writeKubeconfig("half-blind.kubeconfig", {
      identity: { token },
    });
    const before = await identity();
    const { stderr, exitCode } = await knfleet(...line, "--from-kubeconfig", kubeconfig);
    expect(stderr).toMatch(
      /^error: You lack rights on the cluster: get serviceaccounts in namespace knfleet, get clusterrolebindings/m,
    );
    expect(exitCode).toBe(2);
    expect(await identity()).toEqual(before);
  });
});
