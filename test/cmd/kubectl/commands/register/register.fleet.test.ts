import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { clusterProfileApiVersion, renewedAnnotation } from "../../../../../api/cluster-profile.ts";
import { keyOf, type ObjectKey } from "../../../../../api/kubernetes.ts";
import { builtInProviderFile, letControllerReadSecrets } from "../../../../e2e/built-in-access.ts";
import { create, gone, ready, remove } from "../../../../e2e/installation.ts";
import { writeThinRelease } from "../../../../e2e/thin-release.ts";
import { conditionOf, valueAt } from "../../../../fleet/json-record.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import {
  type ControllerProcess,
  startControllerProcess,
} from "../../../../support/controller-process.ts";
import { controllerBinding } from "../../controller-binding.ts";
import { type Ran, runOnFleet } from "../../run-knfleet.ts";

const fleet = useFleet({ spokes: 1 });
const kind = "KnativeEventing";
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
const account: ObjectKey = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  namespace: "knfleet",
  name: "knfleet-hub",
};

let providerFile: string;
let controller: ControllerProcess;
beforeAll(async () => {
  const { hub, folder } = fleet();
  providerFile = await builtInProviderFile(fleet(), { name: "register" });
  for (const name of ["fleet-credentials", "knfleet-system"]) {
    await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  await letControllerReadSecrets(hub);
  controller = await startControllerProcess({
    kubeconfig: await fleet().controllerKubeconfig(),
    providerFile,
    releaseDir: await writeThinRelease(folder, 2),
  });
}, 600_000);
afterAll(async () => controller[Symbol.asyncDispose]());

/** Runs the plugin with a kubeconfig of the hub and one of the spoke. Tokens must never be in what it prints. */
async function knfleet(...args: readonly string[]): Promise<Ran> {
  const ran = await runOnFleet(fleet(), providerFile, args);
  const token = (await tokenOnHub()) ?? "no token yet";
  const printed = `${ran.stdout}${ran.stderr}`;
  expect(printed).not.toContain(token);
  expect(printed).not.toContain(Buffer.from(token).toString("base64"));
  return ran;
}

async function tokenOnHub(): Promise<string | undefined> {
  const token = valueAt(await fleet().hub.admin.get(secret), "data", "token");
  return typeof token === "string" ? Buffer.from(token, "base64").toString("utf8") : undefined;
}

function tokenSecrets() {
  return fleet().spoke(0).admin.list({
    apiVersion: "v1",
    kind: "Secret",
    namespace: "knfleet",
    labelSelector: "app.kubernetes.io/managed-by=knfleet-register",
  });
}

const line = ["register", "eu-1", "--from-context", "spoke-1", "--labels", "region=eu"];

describe("before anything is written", () => {
  test("a dry run prints objects for Git, without a token", async () => {
    const { stdout, exitCode } = await knfleet(...line, "--dry-run", "-o", "yaml");
    const kinds = parseAllDocuments(stdout).map((document) => document.get("kind"));
    expect(kinds).toEqual([
      "Namespace",
      "ServiceAccount",
      "ClusterRoleBinding",
      "Secret",
      "Namespace",
      "Secret",
      "ClusterProfile",
    ]);
    expect(stdout).not.toContain("token:");
    expect(exitCode).toBe(0);
    expect(await fleet().spoke(0).admin.get(account)).toBeUndefined();
  });

  test("nobody is there to agree, so nothing is written", async () => {
    const { stdout, stderr, exitCode } = await knfleet(...line);
    expect(stdout).toContain("ServiceAccount");
    expect(stderr).toContain("Agree with --yes");
    expect(exitCode).toBe(2);
    expect(await fleet().hub.admin.get(profile)).toBeUndefined();
  });

  test("without the right to mint nothing is written, and the missing rights are named", async () => {
    const spoke = fleet().spoke(0);
    const { token } = await spoke.serviceAccountToken({ namespace: "default", name: "viewer" });
    const kubeconfig = await spoke.writeKubeconfig("viewer.kubeconfig", { identity: { token } });
    const from = ["--from-kubeconfig", kubeconfig, "--ttl", "1h", "--yes"];
    const { stderr, exitCode } = await knfleet(...line, ...from);
    expect(stderr).toContain("error: You lack rights on the cluster: ");
    expect(stderr).toContain("create serviceaccounts/token in namespace knfleet");
    expect(exitCode).toBe(2);
    expect(await spoke.admin.get(account)).toBeUndefined();
  });

  test("without the rights to see whether there is a controller, nothing is written", async () => {
    const name = "sees-no-controller";
    const groups = ["", "multicluster.x-k8s.io", "operator.knative.dev", "coordination.k8s.io"];
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
    const binding = { ...role, kind: "ClusterRoleBinding" };
    const { admin } = fleet().hub;
    await admin.apply({
      ...role,
      metadata: { name },
      rules: [{ apiGroups: groups, resources: ["*"], verbs: ["*"] }],
    });
    await admin.apply({
      ...binding,
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
    });
    const { stderr, exitCode } = await knfleet(...line, "--yes", "--as", name);
    await admin.remove({ ...binding, name });
    await admin.remove({ ...role, name });
    expect(stderr).toContain("list deployments.apps");
    expect(stderr).toContain("list clusterrolebindings.rbac.authorization.k8s.io");
    expect(exitCode).toBe(2);
    expect(await fleet().spoke(0).admin.get(account)).toBeUndefined();
  });

  test("a controller in a pod cannot reach a loopback address", async () => {
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace: "knfleet-system",
      name: "knfleet-controller",
    };
    const labels = { app: "knfleet-controller" };
    const args = ["--trusted-cluster-manager=nobody"];
    await fleet().hub.admin.apply({
      apiVersion: deployment.apiVersion,
      kind: deployment.kind,
      metadata: { namespace: deployment.namespace, name: deployment.name },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [{ name: "controller", image: "registry.example.com/knfleet", args }],
          },
        },
      },
    });
    const binding = controllerBinding("knfleet", deployment.namespace);
    // Everybody with a namespace can write a Deployment of that name.
    const unproven = await knfleet(...line, "--dry-run");
    await fleet().hub.admin.apply(binding);
    const { stderr, exitCode } = await knfleet(...line, "--yes");
    await fleet().hub.admin.remove(deployment);
    await fleet().hub.admin.remove(keyOf(binding));
    expect(unproven.stderr).not.toMatch(/cannot reach|trusted/);
    expect(unproven.exitCode).toBe(0);
    expect(stderr).toContain("trustedClusterManagers");
    expect(stderr).toContain("which cannot reach https://127.0.0.1:");
    expect(stderr).toContain("--spoke-server");
    expect(exitCode).toBe(2);
  });
});

describe("a spoke", () => {
  test("is registered, and the walk to it is well", async () => {
    const { stdout, stderr, exitCode } = await knfleet(...line, "--yes");
    expect(stdout).toContain("ClusterProfile fleet/eu-1 is registered. Its token stays");
    expect(stdout).not.toContain("FAIL");
    expect(stderr).toContain("clusterProfileRef: { namespace: fleet, name: eu-1 }");
    expect(exitCode).toBe(0);
    const found = await fleet().hub.admin.get(profile);
    expect(found?.metadata.labels).toMatchObject({
      region: "eu",
      "x-k8s.io/cluster-manager": "knfleet-register",
    });
    expect(conditionOf(found, "ControlPlaneHealthy")?.status).toBe("True");
    expect(valueAt(found, "status", "version", "kubernetes")).toMatch(/^v1\./);
  });

  test("takes a component, which becomes ready", async () => {
    await create(fleet().hub, { kind, on: { namespace: "fleet", name: "eu-1" } });
    expect(conditionOf(await ready(fleet().hub, kind), "Ready")?.status).toBe("True");
  });

  test("gets a new token when it is registered again, the labels stay, and the controller goes on", async () => {
    const before = await tokenOnHub();
    const accountNow = async () => (await fleet().spoke(0).admin.get(account))?.metadata;
    const made = await accountNow();
    const { exitCode, stderr } = await knfleet(...line.slice(0, 4), "--yes", "-v=9");
    expect(exitCode).toBe(0);
    expect(stderr).toContain("PATCH");
    // The same account, and a failed run that had made it no longer takes it back.
    expect((await accountNow())?.uid).toBe(made?.uid);
    expect((await accountNow())?.resourceVersion).not.toBe(made?.resourceVersion);
    const after = await tokenOnHub();
    expect(after).not.toBe(before);
    expect(await tokenSecrets()).toHaveLength(1);
    const found = await fleet().hub.admin.get(profile);
    expect(found?.metadata.labels).toMatchObject({ region: "eu" });
    // By this the controller takes the token at once.
    expect(found?.metadata.annotations?.[renewedAnnotation]).toMatch(/^\d{4}-.*Z$/);
    const { admin } = fleet().spoke(0);
    const map = {
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: "knative-eventing",
      name: "thin-000",
    };
    await admin.remove(map);
    await waitFor("a repair with the new token", async () => (await admin.get(map)) !== undefined);
    await ready(fleet().hub, kind);
  });

  test("gets a token that ends, and the older one that stays is gone", async () => {
    const { stdout, exitCode } = await knfleet(...line, "--ttl", "1h", "--yes", "-v=9");
    expect(stdout).toMatch(/Its token ends at \d{4}-/);
    expect(exitCode).toBe(0);
    expect(await tokenSecrets()).toEqual([]);
  });

  test("keeps its token when only its labels change, and the life of a token that was named", async () => {
    const before = await tokenOnHub();
    const labels = [...line.slice(0, 4), "--labels", "tier=prod,region-", "--yes", "-v=9"];
    const { stdout, exitCode } = await knfleet(...labels);
    expect(stdout).toContain("ClusterProfile fleet/eu-1 has the labels. Its token is as it was");
    expect(exitCode).toBe(0);
    expect(await tokenOnHub()).toBe(before);
    const found = await fleet().hub.admin.get(profile);
    expect(found?.metadata.labels).toMatchObject({ tier: "prod" });
    expect(found?.metadata.labels).not.toHaveProperty("region");
    expect(found?.metadata.annotations?.[renewedAnnotation]).toBeDefined();
    const again = await knfleet(...line.slice(0, 4), "--yes", "-v=9");
    expect(again.stdout).toMatch(/Its token ends at \d{4}-/);
    expect(await tokenOnHub()).not.toBe(before);
    expect(await tokenSecrets()).toEqual([]);
  });

  test("is not unregistered while a component is on it", async () => {
    const { stderr, exitCode } = await knfleet("unregister", "fleet/eu-1", "--yes");
    expect(stderr).toContain("in use by KnativeEventing knative-eventing/knative-eventing");
    expect(exitCode).toBe(2);
    expect(await fleet().hub.admin.get(profile)).toBeDefined();
  });

  test("is unregistered on hub and spoke, by the context that registered it", async () => {
    await remove(fleet().hub, kind);
    await gone(fleet().hub, kind);
    const { stdout, exitCode } = await knfleet("unregister", "fleet/eu-1", "--yes");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("ClusterRoleBinding");
    const { hub } = fleet();
    const { admin } = fleet().spoke(0);
    expect(await hub.admin.get(profile)).toBeUndefined();
    expect(await hub.admin.get(secret)).toBeUndefined();
    expect(await admin.get(account)).toBeUndefined();
    await waitFor("the namespace to go", async () => {
      const key = { apiVersion: "v1", kind: "Namespace", name: "knfleet" };
      return (await admin.get(key)) === undefined;
    });
    // The fleet has made the role, and not register.
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
    expect(await admin.get({ ...role, name: "knfleet-spoke" })).toBeDefined();
  });
});
