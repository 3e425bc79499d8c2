import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import { objectId } from "../../../../../api/keys.ts";
import { keyOf, type KubeObject, type ObjectKey } from "../../../../../api/kubernetes.ts";
import { builtInProviderFile, letControllerReadSecrets } from "../../../../e2e/built-in-access.ts";
import { create, ready } from "../../../../e2e/installation.ts";
import { writeThinRelease } from "../../../../e2e/thin-release.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import {
  type ControllerProcess,
  startControllerProcess,
} from "../../../../support/controller-process.ts";
import { type Ran, runOnFleet } from "../../run-knfleet.ts";

const fleet = useFleet({ spokes: 1 });
const kind = "KnativeEventing";
const rbac = "rbac.authorization.k8s.io/v1";
const again: ObjectKey = {
  apiVersion: clusterProfileApiVersion,
  kind: "ClusterProfile",
  namespace: "fleet",
  name: "again",
};

let providerFile: string;
let controller: ControllerProcess;
let byHand: readonly string[];
beforeAll(async () => {
  const { hub, folder } = fleet();
  providerFile = await builtInProviderFile(fleet(), { name: "register" });
  await hub.admin.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "fleet-credentials" },
  });
  await letControllerReadSecrets(hub);
  controller = await startControllerProcess({
    kubeconfig: await fleet().controllerKubeconfig(),
    providerFile,
    releaseDir: await writeThinRelease(folder, 2),
  });
  await setUpByHand();
  await create(hub, { kind, on: { namespace: "fleet", name: "spoke-1" } });
  await ready(hub, kind);
  byHand = await identity();
}, 600_000);
afterAll(async () => controller[Symbol.asyncDispose]());

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
  await spoke.admin.create({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace: "knfleet",
      name: "knfleet-hub-token",
      annotations: { "kubernetes.io/service-account.name": account.name },
    },
    type: "kubernetes.io/service-account-token",
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

/** Names and versions of these objects: a write changes the version. */
async function identity(): Promise<readonly string[]> {
  const found = await objects();
  return found.map((object) => `${objectId(keyOf(object))} ${object.metadata.resourceVersion}`);
}

function knfleet(...args: readonly string[]): Promise<Ran> {
  return runOnFleet(fleet(), providerFile, args);
}

const line = ["register", "again", "--from-context", "spoke-1", "--yes"];

/** Waits until the controller has repaired an object through the profile that was made by hand. */
async function firstProfileWorks(): Promise<void> {
  const { admin } = fleet().spoke(0);
  const map = { apiVersion: "v1", kind: "ConfigMap", namespace: "knative-eventing" };
  const key = { ...map, name: "thin-000" };
  await admin.remove(key);
  await waitFor("a repair", async () => (await admin.get(key)) !== undefined);
  await ready(fleet().hub, kind);
}

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

  test("unregister of what was not registered deletes nothing, and the first profile works", async () => {
    const { exitCode } = await knfleet("unregister", "again", "--yes");
    expect(exitCode).toBe(2);
    expect(await identity()).toEqual(byHand);
    await firstProfileWorks();
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
    await firstProfileWorks();
  });

  test("a binding of the name is refused as well", async () => {
    const { admin } = fleet().spoke(0);
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    const binding = { apiVersion: rbac, kind: "ClusterRoleBinding", name: "viewers" };
    await admin.create({
      apiVersion: rbac,
      kind: binding.kind,
      metadata: { name: "viewers" },
      roleRef,
    });
    onTestFinished(async () => void (await admin.remove(binding)));
    const before = await identity();
    const { stderr, exitCode } = await knfleet(...line, "--account", "viewers");
    expect(stderr).toContain("ClusterRoleBinding viewers");
    expect(exitCode).toBe(2);
    expect(await identity()).toEqual(before);
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

  test("a role of the name that lacks rights is refused, and stays as it is", async () => {
    const { admin } = fleet().spoke(0);
    const role = { apiVersion: rbac, kind: "ClusterRole", name: "knfleet-spoke" };
    const present = await admin.get(role);
    const rules: unknown = present?.["rules"];
    if (!Array.isArray(rules)) throw new Error("The role has no rules");
    await admin.patch(role, { rules: rules.slice(1) });
    onTestFinished(async () => void (await admin.patch(role, { rules })));
    const before = await identity();
    const { stderr, exitCode } = await knfleet(...line, "--account", "knfleet-hub-2");
    expect(stderr).toContain("ClusterRole knfleet-spoke");
    expect(stderr).toContain("create and patch namespaces");
    expect(stderr).toContain("docs/spoke-role.yaml");
    expect(exitCode).toBe(2);
    expect(await identity()).toEqual(before);
  });
});
