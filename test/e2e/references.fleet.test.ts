import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { componentKinds, operatorApiVersion } from "../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../api/kubernetes.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { type ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { builtInProviderFile, replicaKubeconfig } from "./built-in-access.ts";
import { writesTo } from "./requests.ts";
import { writeThinRelease } from "./thin-release.ts";

const fleet = useFleet({ spokes: [{ admissionWebhooks: false }] });
const kind = "KnativeEventing";
const team = "team-a";
const installedIn = "knative-eventing";
const profile = { namespace: "fleet", name: "shared" };
const notPermitted = { status: "False", reason: "ReferenceNotPermitted" };
// With 64 requests on the way at a time an apply of so many takes sixteen seconds at a round trip of two.
const configMaps = 500;

let folder: string;
let grants: string;
let controller: ControllerProcess;

beforeAll(async () => {
  // For its side effect: the role of the controller.
  await fleet().controllerKubeconfig();
  folder = await mkdtemp(join(tmpdir(), "knfleet-grants-"));
  grants = join(folder, "grants.yaml");
  await grant([]);
  await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader", ...profile });
  await fleet().hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: team } });
  controller = await startControllerProcess({
    kubeconfig: await replicaKubeconfig(fleet().hub, { name: "granted" }),
    providerFile: await builtInProviderFile(fleet(), { name: "granted" }),
    releaseDir: await writeThinRelease(fleet().folder, configMaps),
    flags: [
      "--reference-mode=Granted",
      `--reference-grants=${grants}`,
      "--trusted-inventory-namespace=fleet",
      "--trusted-cluster-manager=test-fleet",
    ],
  });
}, 600_000);

beforeEach(() => fleet().spoke(0).proxy.setRtt(0));

afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function grant(names: readonly string[]): Promise<void> {
  const file = {
    grants: names.map((name) => ({
      fromNamespace: team,
      toNamespace: profile.namespace,
      names: [name],
    })),
  };
  await writeFile(grants, JSON.stringify(file));
}

function keyOf(name: string): ObjectKey {
  return { apiVersion: operatorApiVersion, kind, namespace: team, name };
}

function create(name: string, on = profile): Promise<KubeObject> {
  const spec = { clusterProfileRef: { namespace: on.namespace, name: on.name } };
  return fleet().hub.admin.create({
    apiVersion: operatorApiVersion,
    kind,
    metadata: { namespace: team, name },
    spec,
  });
}

function read(name: string): Promise<KubeObject | undefined> {
  return fleet().hub.admin.get(keyOf(name));
}

/** Creates a component with our finalizer in another namespace and waits until it is refused. */
async function squat(namespace: string): Promise<ObjectKey> {
  const { admin } = fleet().hub;
  const key = { apiVersion: operatorApiVersion, kind, namespace, name: "squatter" };
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await admin.create({
    apiVersion: operatorApiVersion,
    kind,
    metadata: { namespace, name: key.name, finalizers: [componentKinds[kind].finalizer] },
    spec: { clusterProfileRef: profile },
  });
  await waitFor("the squatter to be refused", async () => {
    const { reason } = conditionOf(await admin.get(key), "TargetClusterResolved") ?? {};
    return reason === notPermitted.reason;
  });
  return key;
}

/** Waits until the component says something of its cluster, about the generation that is stored. */
function says(
  name: string,
  wanted: { readonly status: string; readonly reason?: string; readonly message?: RegExp },
): Promise<KubeObject> {
  return waitFor(`${name} to say ${JSON.stringify(wanted)}`, async () => {
    const component = await read(name);
    const { status, reason, message } = conditionOf(component, "TargetClusterResolved") ?? {};
    const isSaid =
      status === wanted.status &&
      (wanted.reason === undefined || reason === wanted.reason) &&
      (wanted.message === undefined || wanted.message.test(String(message)));
    const isOfNow =
      valueAt(component, "status", "observedGeneration") === component?.metadata.generation;
    return isSaid && isOfNow && component;
  });
}

function ready(name: string): Promise<KubeObject> {
  return waitFor(
    `${name} to be ready`,
    async () => {
      const component = await read(name);
      return conditionOf(component, "Ready")?.status === "True" && component;
    },
    { timeoutMs: 120_000 },
  );
}

function gone(name: string): Promise<true> {
  const isGone = async (): Promise<boolean> => (await read(name)) === undefined;
  return waitFor(`${name} to be gone`, async () => (await isGone()) && (true as const), {
    timeoutMs: 120_000,
  });
}

/** The ConfigMaps of an installation. */
function installed({ metadata }: KubeObject): Promise<readonly KubeObject[]> {
  const labelSelector = `${componentUidLabel}=${metadata.uid}`;
  const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: installedIn, labelSelector };
  return fleet().spoke(0).admin.list(ref);
}

/** All that the controller sent to the spoke, also to guard anchors. */
function requests(since: Date) {
  return fleet().spoke(0).auditLog.requests({ userAgent: "knfleet-controller", since });
}

/** Lets a reconcile look at the component, and waits for what it says. */
async function nudged(name: string): Promise<void> {
  const { generation = 0 } = (await read(name))?.metadata ?? {};
  const labels = { nudged: `${generation}` };
  await fleet().hub.admin.patch(keyOf(name), { spec: { namespace: { labels } } });
  await says(name, notPermitted);
}

test("T-04 a component without a grant gets no access: no plugin, no connection, and it can be deleted at once", async () => {
  const { proxy } = fleet().spoke(0);
  const { connections } = proxy.counts;
  const since = new Date();
  await create("stranger");
  const component = await says("stranger", {
    ...notPermitted,
    message: /No grant lets components of namespace "team-a" use ClusterProfile fleet\/shared/,
  });
  expect(component.metadata["finalizers"] ?? []).toEqual([]);
  // The same words for a profile that does not exist.
  await create("dreamer", { namespace: "fleet", name: "none" });
  await says("dreamer", { ...notPermitted, message: /No grant lets components of/ });
  for (const name of ["stranger", "dreamer"]) {
    await fleet().hub.admin.remove(keyOf(name));
    await gone(name);
  }
  expect(proxy.counts.connections).toBe(connections);
  expect(await requests(since)).toEqual([]);
  const secrets = { userAgent: "knfleet-controller", resource: "secrets", since };
  expect(await fleet().hub.auditLog.requests(secrets)).toEqual([]);
});

test("T-20 a ClusterProfile counts only in a trusted namespace and of a trusted cluster manager", async () => {
  const spoke = fleet().spoke(0);
  const other = { namespace: team, name: "mine" };
  await fleet().addProfile(spoke, { plugin: "secretreader", ...other });
  const { connections } = spoke.proxy.counts;
  // In its own namespace, so no grant is needed.
  await create("self-made", other);
  await says("self-made", { ...notPermitted, message: /namespace "team-a" are not trusted/ });
  await grant([profile.name]);
  const key = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile", ...profile };
  const label = (value: string) =>
    fleet().hub.admin.patch(key, { metadata: { labels: { "x-k8s.io/cluster-manager": value } } });
  await label("somebody");
  // Somebody without a grant who was there first, and looks as if something had been done for him.
  const squatter = await squat("team-b");
  await create("misled");
  await says("misled", { ...notPermitted, message: /names another cluster manager/ });
  expect(spoke.proxy.counts.connections).toBe(connections);
  await label("test-fleet");
  await says("misled", { status: "True" });
  const component = await ready("misled");
  // What was reached by it is left at once.
  await label("somebody");
  await says("misled", notPermitted);
  await waitFor("the connection to end", () => spoke.proxy.openConnections === 0);
  await label("test-fleet");
  await fleet().hub.admin.remove(keyOf("misled"));
  await gone("misled");
  expect(await installed(component)).toEqual([]);
  await fleet().hub.admin.patch(squatter, { metadata: { finalizers: null } });
  await fleet().hub.admin.remove(squatter);
});

test("T-05 without its grant the running apply stops, nothing is watched, guarded, put right or removed, until there is one", async () => {
  const spoke = fleet().spoke(0);
  await grant([profile.name]);
  spoke.proxy.setRtt(1_000);
  const component = await create("revoked");
  await waitFor("the apply to run", async () => (await installed(component)).length > 0, {
    timeoutMs: 120_000,
  });
  await grant([]);
  await says("revoked", notPermitted);
  spoke.proxy.setRtt(0);
  // What was on its way may still arrive, and a busy server answers late.
  let seen = -1;
  let looksAtRest = 0;
  await waitFor(
    "the last write to arrive",
    async () => {
      const before = seen;
      seen = (await writesTo(spoke)).length;
      looksAtRest = seen === before ? looksAtRest + 1 : 0;
      return looksAtRest === 5;
    },
    { everyMs: 200 },
  );
  const standing = await installed(component);
  expect(standing.length).toBeLessThan(configMaps);

  const since = new Date();
  const [drifted] = standing;
  const binding = await onlyBinding();
  await spoke.admin.remove({
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace: installedIn,
    name: drifted?.metadata.name ?? "",
  });
  await spoke.admin.remove(binding);
  await nudged("revoked");
  await fleet().hub.admin.remove(keyOf("revoked"));
  await says("revoked", { ...notPermitted, message: /to delete the component .*force-orphan=/ });
  expect(await installed(component)).toHaveLength(standing.length - 1);
  expect(await spoke.admin.get(binding)).toBeUndefined();
  expect(await requests(since)).toEqual([]);

  await grant([profile.name]);
  await gone("revoked");
  expect(await installed(component)).toEqual([]);
});

test("T-05 a grant that comes back lets repairs go on; without one force-orphan gives the cluster up", async () => {
  const spoke = fleet().spoke(0);
  await grant([profile.name]);
  await create("given-up");
  const component = await ready("given-up");
  expect(component.metadata["finalizers"]).toEqual([componentKinds[kind].finalizer]);
  await grant([]);
  await says("given-up", notPermitted);
  const [drifted] = await installed(component);
  const name = drifted?.metadata.name ?? "";
  const key = { apiVersion: "v1", kind: "ConfigMap", namespace: installedIn, name };
  const binding = await onlyBinding();
  await spoke.admin.remove(key);
  await spoke.admin.remove(binding);
  await nudged("given-up");
  expect(await spoke.admin.get(key)).toBeUndefined();
  await grant([profile.name]);
  await waitFor("the object to be put right", () => spoke.admin.get(key));
  await waitFor("the guard to be put right", () => spoke.admin.get(binding));
  await ready("given-up");

  await grant([]);
  await says("given-up", notPermitted);
  const since = new Date();
  const annotations = { "knfleet.dev/force-orphan": component.metadata.uid };
  await fleet().hub.admin.patch(keyOf("given-up"), { metadata: { annotations } });
  await fleet().hub.admin.remove(keyOf("given-up"));
  await gone("given-up");
  expect((await installed(component)).length).toBeGreaterThanOrEqual(configMaps);
  expect(await requests(since)).toEqual([]);
});

/** A binding of the policies that guard anchors. */
async function onlyBinding(): Promise<ObjectKey> {
  const ref = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
  };
  const [one] = await fleet().spoke(0).admin.list(ref);
  return { ...ref, name: one?.metadata.name ?? "" };
}
