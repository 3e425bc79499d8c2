import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import type { ObjectKey } from "../../../../../api/kubernetes.ts";
import { builtInProviderFile } from "../../../../e2e/built-in-access.ts";
import { startDelayProxy } from "../../../../fleet/delay-proxy.ts";
import { valueAt } from "../../../../fleet/json-record.ts";
import type { PolicyRule } from "../../../../fleet/service-accounts.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { type Ran, runKnfleet, runOnFleet } from "../../run-knfleet.ts";

const fleet = useFleet({ spokes: 1 });
const secret = (name: string): ObjectKey => ({
  apiVersion: "v1",
  kind: "Secret",
  namespace: "fleet-credentials",
  name,
});
const profile = (name: string): ObjectKey => ({
  apiVersion: clusterProfileApiVersion,
  kind: "ClusterProfile",
  namespace: "fleet",
  name,
});
const knfleetNamespace = { apiVersion: "v1", kind: "Namespace", name: "knfleet" };

let providerFile: string;
beforeAll(async () => {
  providerFile = await builtInProviderFile(fleet(), { name: "register" });
  for (const name of ["fleet", "fleet-credentials"]) {
    await fleet().hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
}, 600_000);

function knfleet(...args: readonly string[]): Promise<Ran> {
  return runOnFleet(fleet(), providerFile, args);
}

function line(name: string): readonly string[] {
  return ["register", name, "--from-context", "spoke-1", "--yes"];
}

/** The tokens that stay on the spoke. */
async function lastingTokens(): Promise<readonly unknown[]> {
  const secrets = await fleet().spoke(0).admin.list({
    apiVersion: "v1",
    kind: "Secret",
    namespace: "knfleet",
    labelSelector: "app.kubernetes.io/managed-by=knfleet-register",
  });
  return secrets.map((one) => valueAt(one, "data", "token"));
}

async function onHub(name: string): Promise<unknown> {
  return valueAt(await fleet().hub.admin.get(secret(name)), "data", "token");
}

describe("a right that is missing on the hub is named before anything is written:", () => {
  const inventory = "multicluster.x-k8s.io";
  const rights = [
    { group: "", resource: "namespaces", verb: "get", where: "" },
    { group: "", resource: "secrets", verb: "get", where: " in namespace fleet-credentials" },
    { group: "", resource: "secrets", verb: "create", where: " in namespace fleet-credentials" },
    { group: "", resource: "secrets", verb: "patch", where: " in namespace fleet-credentials" },
    { group: inventory, resource: "clusterprofiles", verb: "get", where: " in namespace fleet" },
    { group: inventory, resource: "clusterprofiles", verb: "create", where: " in namespace fleet" },
    { group: inventory, resource: "clusterprofiles", verb: "patch", where: " in namespace fleet" },
    {
      group: inventory,
      resource: "clusterprofiles/status",
      verb: "patch",
      where: " in namespace fleet",
    },
  ];
  const other = { group: "", resource: "namespaces", verb: "patch", where: "" };

  /** Registers with all of these rights on the hub except one. */
  async function registerWithout(missing: (typeof rights)[number]): Promise<Ran> {
    const { hub, spokes } = fleet();
    const rules: readonly PolicyRule[] = [...rights, other]
      .filter((right) => right !== missing)
      .map(({ group, resource, verb }) => ({
        apiGroups: [group],
        resources: [resource],
        verbs: [verb],
      }));
    const name = `no-${missing.verb}-${missing.resource.replace("/", "-")}`;
    const { token } = await hub.serviceAccountToken({ namespace: "default", name, rules });
    const kubeconfig = await hub.writeKubeconfig(`${name}.kubeconfig`, { identity: { token } });
    const from = ["--from-kubeconfig", spokes[0]?.adminKubeconfigPath ?? ""];
    return runKnfleet([...line("blind"), ...from], {
      env: { KUBECONFIG: kubeconfig, KNFLEET_PROVIDER_FILE: providerFile },
    });
  }

  test.each(rights)("$verb $resource", async (missing) => {
    const { stderr, exitCode } = await registerWithout(missing);
    const group = missing.group === "" ? "" : `.${missing.group}`;
    const right = `${missing.verb} ${missing.resource}${group}${missing.where}`;
    expect(stderr).toMatch(/^error: You lack rights on the hub: /m);
    expect(stderr).toContain(right);
    expect(exitCode).toBe(2);
    expect(await fleet().spoke(0).admin.get(knfleetNamespace)).toBeUndefined();
    expect(await fleet().hub.admin.get(secret("blind"))).toBeUndefined();
  });
});

/** Makes the Secret of a registration, which the hub lets nobody change. */
async function holdSecret(name: string): Promise<void> {
  const { apiVersion, kind, namespace } = secret(name);
  const labels = { "app.kubernetes.io/managed-by": "knfleet-register" };
  const annotations = { "knfleet.dev/cluster-profile": `fleet/${name}` };
  const metadata = { namespace, name, labels, annotations };
  await fleet().hub.admin.apply({ apiVersion, kind, metadata, immutable: true });
}

test("a registration that the hub refuses leaves nothing on a cluster that had nothing", async () => {
  await holdSecret("refused");
  const { admin } = fleet().spoke(0);
  const rbac = "rbac.authorization.k8s.io/v1";
  // The fleet was started with it.
  await admin.remove({ apiVersion: rbac, kind: "ClusterRole", name: "knfleet-spoke" });
  const { stderr, exitCode } = await knfleet(...line("refused"));
  expect(exitCode).toBe(2);
  expect(stderr).not.toContain("left there");
  const made: readonly ObjectKey[] = [
    { apiVersion: rbac, kind: "ClusterRoleBinding", name: "knfleet-hub" },
    { apiVersion: rbac, kind: "ClusterRole", name: "knfleet-spoke" },
    knfleetNamespace,
  ];
  for (const key of made) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await waitFor(`${key.kind} to be gone`, async () => (await admin.get(key)) === undefined);
  }
});

describe("a right to delete that is missing is named before unregister deletes anything:", () => {
  beforeAll(async () => {
    await knfleet(...line("goes"));
  });

  const view: PolicyRule = { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list"] };
  const all: PolicyRule = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };

  test.each([
    ["the hub", "delete secrets in namespace fleet-credentials, delete clusterprofiles."],
    ["the cluster", "delete clusterrolebindings.rbac.authorization.k8s.io, delete secrets in"],
  ])("on %s", async (where, lack) => {
    const { hub } = fleet();
    const spoke = fleet().spoke(0);
    const isOnHub = where === "the hub";
    const identity = async (cluster: typeof hub, isLimited: boolean): Promise<string> => {
      const name = isLimited ? "views" : "does-all";
      const rules = [isLimited ? view : all];
      const { token } = await cluster.serviceAccountToken({ namespace: "default", name, rules });
      return cluster.writeKubeconfig(`${cluster.name}-${name}.kubeconfig`, { identity: { token } });
    };
    const env = {
      KUBECONFIG: await identity(hub, isOnHub),
      KNFLEET_PROVIDER_FILE: providerFile,
    };
    const args = ["unregister", "fleet/goes", "--from-context", "spoke-1", "--yes"];
    const from = ["--from-kubeconfig", await identity(spoke, !isOnHub)];
    const { stderr, exitCode } = await runKnfleet([...args, ...from], { env });
    expect(stderr).toContain(`error: You lack rights on ${where}: ${lack}`);
    expect(exitCode).toBe(2);
    expect(await fleet().spoke(0).admin.get(knfleetNamespace)).toBeDefined();
    expect(await lastingTokens()).toHaveLength(1);
    expect(await hub.admin.get(profile("goes"))).toBeDefined();
    expect(await hub.admin.get(secret("goes"))).toBeDefined();
  });

  afterAll(async () => {
    await knfleet("unregister", "fleet/goes", "--from-context", "spoke-1", "--yes");
    await waitFor("the namespace to be gone", async () => {
      return (await fleet().spoke(0).admin.get(knfleetNamespace)) === undefined;
    });
  });
});

describe("a cluster", () => {
  test("that takes a quarter of the time limit for each request is registered", async () => {
    const spoke = fleet().spoke(0);
    await using proxy = await startDelayProxy(Number(new URL(spoke.server).port), { rttMs: 900 });
    const { token } = await spoke.serviceAccountToken({
      namespace: "default",
      name: "admin",
      clusterRoles: ["cluster-admin"],
    });
    const kubeconfig = await spoke.writeKubeconfig("slow.kubeconfig", {
      identity: { token },
      server: proxy.url,
    });
    const from = ["--from-kubeconfig", kubeconfig, "--spoke-timeout", "4s"];
    const { stdout, stderr } = await knfleet(...line("eu-1"), ...from);
    expect(`${stdout}${stderr}`).toContain("ClusterProfile fleet/eu-1 is registered");
    expect(await lastingTokens()).toEqual([await onHub("eu-1")]);
  });

  test("that two register at once has one token, which the hub holds, and who lost says so", async () => {
    for (let round = 0; round < 3; round += 1) {
      const both = await Promise.all([knfleet(...line("eu-1")), knfleet(...line("eu-1"))]);
      const won = both.filter(({ stdout }) => stdout.includes("is registered"));
      const lost = both.filter((one) => !won.includes(one));
      expect(won.length).toBeGreaterThan(0);
      expect(lost.map(({ exitCode }) => exitCode)).toEqual(lost.map(() => 2));
      for (const { stderr } of lost) expect(stderr).toContain("meanwhile");
      expect(await lastingTokens()).toEqual([await onHub("eu-1")]);
    }
  });

  test("keeps its labels, gets new ones and loses those that are taken away", async () => {
    await knfleet(...line("eu-1"), "--labels", "region=eu,tier=prod");
    await knfleet(...line("eu-1"), "--labels", "tier-,zone=a");
    const found = await fleet().hub.admin.get(profile("eu-1"));
    expect(found?.metadata.labels).toMatchObject({ region: "eu", zone: "a" });
    expect(found?.metadata.labels).not.toHaveProperty("tier");
  });

  test("gets no token that stays when the hub does not take it, and loses only what it was given", async () => {
    await holdSecret("held");
    const before = await lastingTokens();
    const { stderr, exitCode } = await knfleet(...line("held"), "--account", "held");
    expect(exitCode).toBe(2);
    expect(stderr).not.toContain("left there");
    expect(await lastingTokens()).toEqual(before);
    const { admin } = fleet().spoke(0);
    const account = { apiVersion: "v1", kind: "ServiceAccount", namespace: "knfleet" };
    expect(await admin.get({ ...account, name: "held" })).toBeUndefined();
    expect(await admin.get({ ...account, name: "knfleet-hub" })).toBeDefined();
  });
});

describe("unregister", () => {
  test("is refused without the right to tell the hub from others", async () => {
    const { hub, spokes } = fleet();
    const { token } = await hub.serviceAccountToken({
      namespace: "default",
      name: "no-hub-uid",
      rules: [
        { apiGroups: ["*"], resources: ["clusterprofiles", "secrets"], verbs: ["*"] },
        { apiGroups: ["operator.knative.dev"], resources: ["*"], verbs: ["get", "list"] },
      ],
    });
    const kubeconfig = await hub.writeKubeconfig("no-hub-uid.kubeconfig", { identity: { token } });
    const from = ["--from-kubeconfig", spokes[0]?.adminKubeconfigPath ?? ""];
    const ran = await runKnfleet(["unregister", "fleet/eu-1", "--yes", ...from], {
      env: { KUBECONFIG: kubeconfig, KNFLEET_PROVIDER_FILE: providerFile },
    });
    expect(ran.stderr).toContain("You lack rights on the hub: get namespaces");
    expect(ran.exitCode).toBe(2);
    expect(await onHub("eu-1")).toBeDefined();
  });

  test("leaves the namespace while others have something in it, and says what", async () => {
    const { admin } = fleet().spoke(0);
    const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", name: "theirs" };
    const service = { apiVersion: "v1", kind: "Service", name: "theirs" };
    const at = { namespace: "knfleet", name: "theirs" };
    await admin.create({
      apiVersion: claim.apiVersion,
      kind: claim.kind,
      metadata: at,
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
    });
    await admin.create({
      apiVersion: service.apiVersion,
      kind: service.kind,
      metadata: at,
      spec: { ports: [{ port: 80 }] },
    });
    onTestFinished(async () => {
      await admin.remove({ ...claim, namespace: "knfleet" });
      await admin.remove({ ...service, namespace: "knfleet" });
      await admin.remove(knfleetNamespace);
    });
    const { stderr, exitCode } = await knfleet("unregister", "fleet/eu-1", "--yes");
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(
      /^warning: Namespace knfleet of the cluster stays.*PersistentVolumeClaim theirs.*Service theirs/m,
    );
    const found = await admin.get(knfleetNamespace);
    expect(found).toBeDefined();
    expect(found?.metadata.deletionTimestamp).toBeUndefined();
    expect(await fleet().hub.admin.get(profile("eu-1"))).toBeUndefined();
    expect(await lastingTokens()).toEqual([]);
  });
});
