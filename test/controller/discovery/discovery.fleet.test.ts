import type { Server } from "node:net";

import { afterAll, beforeAll, expect, test } from "vitest";

import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { create, ready } from "../../e2e/installation.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { kubeconfigOf } from "../../fleet/kubeconfig.ts";
import { portOf } from "../../fleet/ports.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import type { ControllerProcess } from "../../support/controller-process.ts";
import {
  account,
  applyNamespaces,
  credentials,
  healthOf,
  kubeconfigSecret,
  profileKey,
  profileWith,
  profiles,
  startBlackHole,
  startDiscovery,
} from "./fleet-parts.ts";

const fleet = useFleet({ spokes: 1 });
const sources = 40;
// More than discovery looks at at once.
const blackHoles = 20;

let token: string;
let blackHole: Server;
let controller: ControllerProcess;

beforeAll(async () => {
  const spoke = fleet().spoke(0);
  token = (await spoke.serviceAccountToken(account)).token;
  blackHole = await startBlackHole();
  await applyNamespaces(fleet());
  const numbers = Array.from({ length: sources }, (_, at) => at);
  await Promise.all(numbers.map((at) => applySecret(`c-${at}`, serverOf(at))));
  controller = await startDiscovery(fleet(), ["kubeconfig-secrets", "registered"]);
}, 600_000);
afterAll(async () => {
  await controller[Symbol.asyncDispose]();
  blackHole.close();
});

function serverOf(at: number): string {
  return at < sources - blackHoles ? fleet().spoke(0).server : blackHoleServer();
}

function blackHoleServer(): string {
  return `https://127.0.0.1:${portOf(blackHole.address())}`;
}

function kubeconfigFor(server: string): string {
  const { caPem } = fleet().spoke(0);
  return kubeconfigOf({ name: "spoke", server, caPem, identity: { token } });
}

function applySecret(name: string, server: string): Promise<KubeObject> {
  return fleet().hub.admin.apply(kubeconfigSecret(name, kubeconfigFor(server)));
}

function profileOf(name: string): Promise<KubeObject | undefined> {
  return fleet().hub.admin.get(profileKey(name));
}

function health(name: string, wanted: string): Promise<KubeObject> {
  return profileWith(fleet(), name, wanted);
}

async function healthCounts(): Promise<Readonly<Record<string, number>>> {
  const { apiVersion, kind } = profileKey("");
  const all = await fleet().hub.admin.list({ apiVersion, kind, namespace: profiles });
  return Object.fromEntries(
    [...Map.groupBy(all, healthOf)].map(([text, group]) => [text, group.length]),
  );
}

async function event(reason: string, name: string): Promise<KubeObject> {
  return waitFor(`an Event ${reason} on ${name}`, async () => {
    const events = await fleet().hub.admin.list({ apiVersion: "v1", kind: "Event" });
    return events.find(
      (one) => one["reason"] === reason && valueAt(one, "involvedObject", "name") === name,
    );
  });
}

/** Without its label, a Secret is no source any more. */
async function removeLabel(name: string): Promise<void> {
  const key = { apiVersion: "v1", kind: "Secret", namespace: credentials, name };
  await fleet().hub.admin.patch(key, { metadata: { labels: null } });
}

/** Lets a profile look as if its source had been gone for long. */
async function endGrace(name: string): Promise<void> {
  const conditions = [valueAt(await profileOf(name), "status", "conditions")].flat();
  const old = conditions.map((one) => ({
    ...Object(one),
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  await fleet().hub.admin.patch(
    profileKey(name),
    { status: { conditions: old } },
    { subresource: "status" },
  );
}

function connections(): number {
  return controller.logLines({ msg: "Connected to the spoke" }).length;
}

test("black holes hold up no other cluster", async () => {
  const counts = { "True Ready": sources - blackHoles };
  await waitFor(
    "the other clusters",
    async () => (await healthCounts())["True Ready"] === counts["True Ready"],
    // Its connections take their time on a busy machine.
    { timeoutMs: 180_000 },
  );
  await waitFor("the black holes", async () => {
    return (await healthCounts())["False Unreachable"] === blackHoles;
  });
  expect(await healthCounts()).toEqual({ ...counts, "False Unreachable": blackHoles });
  const profile = await profileOf("c-0");
  expect(profile).toMatchObject({
    metadata: { labels: { "x-k8s.io/cluster-manager": "knfleet-kubeconfig" } },
    spec: { displayName: "c-0", clusterManager: { name: "knfleet-kubeconfig" } },
    status: { version: { kubernetes: expect.stringMatching(/^v1\./) } },
  });
  expect(JSON.stringify(profile)).not.toContain(token);
});

test("credential, server and source change under a component, which stays installed", async () => {
  const { hub } = fleet();
  const spoke = fleet().spoke(0);
  await create(hub, { kind: "KnativeEventing", on: { namespace: profiles, name: "c-0" } });
  await ready(hub, "KnativeEventing");
  const [before, connected] = [await profileOf("c-0"), connections()];
  token = (await spoke.serviceAccountToken({ ...account, name: "second" })).token;
  await applySecret("c-0", spoke.server);
  await spoke.admin.remove({
    apiVersion: "v1",
    kind: "ServiceAccount",
    namespace: account.namespace,
    name: account.name,
  });
  // The spoke remembers for ten seconds that the old token was good.
  await waitFor("the new token in use", async () => {
    return (await spoke.auditLog.requests({ user: /:second$/ })).length > 0;
  });
  expect(connections()).toBe(connected);
  expect((await profileOf("c-0"))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  await applySecret("c-0", spoke.proxy.url);
  await waitFor("the new server", async () => {
    const [provider] = [valueAt(await profileOf("c-0"), "status", "accessProviders")].flat();
    return valueAt(provider, "cluster", "server") === spoke.proxy.url;
  });
  await waitFor("a new connection", () => connections() > connected);
  await ready(hub, "KnativeEventing");
  await removeLabel("c-0");
  await health("c-0", "False SourceGone");
  await event("SourceGone", "c-0");
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace: "knative-eventing" };
  expect(await spoke.admin.list(deployment)).toHaveLength(1);
  // A profile that no component uses is deleted after its grace.
  await removeLabel("c-1");
  await health("c-1", "False SourceGone");
  for (const name of ["c-0", "c-1"]) await endGrace(name);
  await waitFor("the profile to be deleted", async () => (await profileOf("c-1")) === undefined);
  await health("c-0", "False SourceGone");
  await applySecret("c-0", spoke.server);
  await health("c-0", "True Ready");
});

test("a profile that another program holds while it is being deleted is not ready, and nothing is written to it", async () => {
  const { hub } = fleet();
  const key = profileKey("c-0");
  const component = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeEventing",
    namespace: "knative-eventing",
    name: "knative-eventing",
  };
  const saying = (text: string) => () =>
    hub.admin.get(component).then((one) => JSON.stringify(one?.["status"]).includes(text));
  await hub.admin.patch(key, { metadata: { finalizers: ["other.example/held"] } });
  await hub.admin.remove(key);
  await waitFor("the component to say so", saying("and a finalizer holds it"));
  const held = await profileOf("c-0");
  expect(held?.metadata.deletionTimestamp).toBeDefined();
  // Else the profile would get the new server and its health.
  await applySecret("c-0", fleet().spoke(0).proxy.url);
  await applySecret("c-2", fleet().spoke(0).proxy.url);
  await waitFor("another profile to be written", async () => {
    const [provider] = [valueAt(await profileOf("c-2"), "status", "accessProviders")].flat();
    return valueAt(provider, "cluster", "server") === fleet().spoke(0).proxy.url;
  });
  expect(await profileOf("c-0")).toEqual(held);
  await hub.admin.patch(key, { metadata: { finalizers: null } });
  await waitFor("a new profile", async () => {
    const { uid, deletionTimestamp } = (await profileOf("c-0"))?.metadata ?? {};
    return uid !== undefined && uid !== held?.metadata.uid && deletionTimestamp === undefined;
  });
  await ready(hub, "KnativeEventing");
});

test("a hostile kubeconfig and a name of another manager are refused with an Event", async () => {
  const { hub } = fleet();
  const text = kubeconfigFor("https://10.0.0.1").replace(/token: .*/, "exec: { command: /bin/sh }");
  await hub.admin.apply(kubeconfigSecret("hostile", text));
  const hostile = await health("hostile", "False KubeconfigRefused");
  expect(valueAt(hostile, "status", "accessProviders")).toBeUndefined();
  await event("KubeconfigRefused", "hostile");
  const { apiVersion, kind } = profileKey("");
  const taken: Manifest = {
    apiVersion,
    kind,
    metadata: { namespace: profiles, name: "taken" },
    spec: { displayName: "taken", clusterManager: { name: "ocm" } },
  };
  const before = await hub.admin.apply(taken);
  await applySecret("taken", fleet().spoke(0).server);
  await event("NameTaken", "taken");
  expect((await profileOf("taken"))?.metadata.resourceVersion).toBe(
    before.metadata.resourceVersion,
  );
});

test("the health of a registered profile is kept up to date, and nothing else of it", async () => {
  const { hub } = fleet();
  const { apiVersion, kind } = profileKey("");
  const own = { fieldManager: "knfleet-register" };
  const { caPem, server } = fleet().spoke(0);
  const cluster = { server, "certificate-authority-data": Buffer.from(caPem).toString("base64") };
  const metadata = { namespace: profiles, name: "by-hand" };
  const spec = { displayName: "x", clusterManager: { name: "knfleet-register" } };
  await hub.admin.apply({ apiVersion, kind, metadata, spec }, own);
  const applyStatus = (address: string): Promise<KubeObject> =>
    hub.admin.apply(
      {
        apiVersion,
        kind,
        metadata,
        status: {
          accessProviders: [{ name: "secretreader", cluster: { ...cluster, server: address } }],
        },
      },
      { ...own, subresource: "status" },
    );
  await applyStatus(server);
  const healthy = await health("by-hand", "True Ready");
  expect(valueAt(healthy, "status", "version", "kubernetes")).toMatch(/^v1\./);
  await applyStatus(blackHoleServer());
  await health("by-hand", "False Unreachable");
});
