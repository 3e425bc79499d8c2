// Servers of its own: the API server calls webhooks through an egress proxy.
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { fleetSetApiVersion } from "../../api/fleet-set.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { buildDist, type DistFolder } from "../build/dist-folder.ts";
import { rowsOf, runKnfleet } from "../cmd/kubectl/run-knfleet.ts";
import {
  change,
  condition,
  create,
  gone,
  observed,
  read,
  ready,
  remove,
  type Wanted,
} from "../e2e/installation.ts";
import { writesTo } from "../e2e/requests.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { manifestsIn } from "../fleet/manifest-files.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { ChartedPods, tokenOf } from "./charted-pods.ts";
import { chartFolder, Helm, type Values } from "./helm.ts";
import { isRefused } from "./refusal.ts";
import { listAt } from "./rendered.ts";
import { rightsReport } from "./rights.ts";
import { isWebhookFirst, uninstall } from "./uninstall.ts";

vi.setConfig({ testTimeout: 600_000 });

// Without nodes no kubelet plays along: what runs in a pod is what a test runs. Without WatchList both ways of following are needed,
// `list` for API servers that do not have it.
const fleet = useFleet({
  hub: { egress: true, apiServerFlags: ["--feature-gates=WatchList=false"] },
  spokes: 1,
});
const namespace = "knfleet-system";
const place = ["knfleet", "--namespace", namespace] as const;
const previousChart = join(import.meta.dirname, "../fixtures/charts/knfleet-0.0.9.tgz");
const patient = { timeoutMs: 90_000 };
const kind = "KnativeEventing";
const opened = new AsyncDisposableStack();
let helm: Helm;
let hub: Cluster;
let profile: Profile;
let pods: ChartedPods;
let dist: DistFolder;
let values: Values;
let pluginKubeconfig = "";

const crdKey = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "knativeeventings.operator.knative.dev",
};

beforeAll(async () => {
  hub = fleet().hub;
  helm = opened.use(await Helm.open(hub.adminKubeconfigPath));
  // What the image holds, and not the sources.
  dist = opened.use(await buildDist());
  pods = new ChartedPods(hub, { namespace, name: "knfleet", app: dist.path("") });
  profile = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  await hub.admin.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: namespace, labels },
  });
  pluginKubeconfig = join(hub.folder, "plugin.kubeconfig");
  const plugin = (await ensureBinaries(["secretreader"]))("secretreader");
  const providers = [
    {
      name: "secretreader",
      execConfig: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: plugin,
        env: [{ name: "KUBECONFIG", value: pluginKubeconfig }],
        provideClusterInfo: true,
        interactiveMode: "Never",
      },
    },
  ];
  values = {
    multicluster: {
      enabled: true,
      accessProvidersConfig: { providers },
      plugins: [{ name: "secretreader", image: "example.org/a:1", mountPath: dirname(plugin) }],
      credentialsNamespace: credentialNamespace,
    },
  };
}, 600_000);

afterAll(() => opened.disposeAsync());

async function columns(): Promise<readonly unknown[]> {
  const crd = await hub.admin.get(crdKey);
  const found = listAt(crd, "spec", "versions", 0, "additionalPrinterColumns");
  return found.map((column) => valueAt(column, "name"));
}

/** The `caBundle` of every webhook. */
async function trusted(): Promise<readonly unknown[]> {
  const found = await hub.admin.get({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    name: "knfleet-webhook",
  });
  return listAt(found, "webhooks").map((one) => valueAt(one, "clientConfig", "caBundle"));
}

async function objects(): Promise<readonly Manifest[]> {
  const [main, hooks] = await Promise.all([
    helm.must("get", "manifest", ...place),
    helm.must("get", "hooks", ...place),
  ]);
  return [...manifestsIn(main, "The release"), ...manifestsIn(hooks, "The release")];
}

test("definitions of somebody else are not touched without being asked, and taken over when asked", async () => {
  const flags = await helm.flagsOf({ values });
  const refused = await helm.run("install", ...place, previousChart, ...flags);
  expect(refused.stderr).toContain("cannot be imported into the current release");
  const taken = ["--take-ownership", "--force-conflicts"];
  await helm.must("install", ...place, previousChart, ...flags, ...taken);
  expect(await columns()).not.toContain("Target Cluster");
  const crd = await hub.admin.get(crdKey);
  expect(crd?.metadata.annotations).toMatchObject({
    "meta.helm.sh/release-name": "knfleet",
    "helm.sh/resource-policy": "keep",
  });
});

test("an upgrade from the previous package brings new definitions, a rollback the old ones; neither loses the caBundle, nor touches what is installed", async () => {
  const flags = await helm.flagsOf({ values });
  await pluginIdentity();
  {
    await using _webhook = await pods.webhook();
    await using _controller = await pods.controller();
    await present();
    await ready(hub, kind, 180_000);
  }
  const before = { bundles: await trusted(), uid: (await read(hub, kind))?.metadata.uid };
  expect(before.bundles.every((one) => typeof one === "string" && one !== "")).toBe(true);
  const steps = [
    { step: ["upgrade", ...place, chartFolder, ...flags], isNew: true },
    { step: ["rollback", ...place, "1"], isNew: false },
  ];
  for (const { step, isNew } of steps) {
    const begun = new Date();
    await helm.must(...step);
    expect((await columns()).includes("Target Cluster")).toBe(isNew);
    expect(new Set(await trusted())).toEqual(new Set(before.bundles));
    await using _webhook = await pods.webhook();
    await using _controller = await pods.controller();
    // The same release under another name: everything is compared.
    const version = isNew ? "1.23.1" : "1.23";
    await waitFor("the component to be taken", () => change(hub, kind, { version }), patient);
    await observed(hub, kind);
    const component = await ready(hub, kind, 180_000);
    expect(component.metadata.uid).toBe(before.uid);
    const writes = await writesTo(fleet().spoke(0), begun);
    expect(writes.map(({ verb, uri }) => `${verb} ${uri}`)).toEqual([]);
  }
  await helm.must("upgrade", ...place, chartFolder, ...flags);
}, 600_000);

test("pods are made in a namespace that is restricted", async () => {
  const found = await waitFor(
    "the pods",
    async () => {
      const all = await hub.admin.list({ apiVersion: "v1", kind: "Pod", namespace });
      return all.length >= 4 && all;
    },
    patient,
  );
  const programs = new Set(
    found.map(({ metadata }) => metadata.labels?.["app.kubernetes.io/component"]),
  );
  expect(programs).toEqual(new Set(["controller", "webhook"]));
});

test("what runs in the pods does the main job and answers reviews, with the rights of the chart and no others", async () => {
  const since = await asNew();
  await pluginIdentity();
  opened.use(await pods.webhook());
  const first = opened.use(await pods.controller());
  await refusals();
  await installations(first);
  await certificateMadeAnew();
  const all = await objects();
  const reports = await Promise.all(
    ["knfleet-controller", "knfleet-webhook"].map((name) =>
      rightsReport(hub, { namespace, name, since }, all),
    ),
  );
  const notEachTime = [
    // Needed when somebody else wrote the component in the same moment.
    "get operator.knative.dev/knativeservings",
    "get operator.knative.dev/knativeeventings",
    // For the finalizer, as with Eventing; nothing of Serving is ever written here.
    "patch operator.knative.dev/knativeservings",
  ];
  expect(reports.flatMap(({ refused }) => refused)).toEqual([]);
  const unused = reports.flatMap((report) => report.unused);
  expect(unused.filter((right) => !notEachTime.includes(right))).toEqual([]);
}, 600_000);

/** Takes away what the pods of the older chart left, and says since when the rights of this chart have to do, as for a first start. */
async function asNew(): Promise<Date> {
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "knfleet-controller" };
  const secret = { apiVersion: "v1", kind: "Secret", name: "knfleet-webhook-certificates" };
  for (const key of [lease, secret]) await hub.admin.remove({ ...key, namespace });
  return new Date();
}

/** Lets the plugin come to the hub as the controller's pod does. */
async function pluginIdentity(): Promise<void> {
  await hub.writeKubeconfig("plugin.kubeconfig", {
    identity: { token: await tokenOf(hub, { namespace, account: "knfleet-controller" }) },
    namespace: credentialNamespace,
  });
}

/** Creates a component, once more where a busy hub did not answer the webhook in time (code 500). */
function created(wanted: Wanted): Promise<KubeObject> {
  return waitFor(`${wanted.kind} to be taken`, () => create(hub, wanted), patient);
}

/** The component on the spoke, which may be there since another test. */
async function present(): Promise<KubeObject> {
  return (await read(hub, kind)) ?? (await created({ kind, on: profile }));
}

/** Installs, loses the spoke and finds it again, hands over to another replica, and removes. */
async function installations(first: ControllerProcess): Promise<void> {
  await present();
  await ready(hub, kind, 180_000);
  await seen();
  // A component that cannot be installed, and one that is looked at again: what is said twice is counted up.
  const nowhere = { namespace: "fleet", name: "nowhere" };
  await created({ kind: "KnativeServing", on: nowhere });
  const missing = { reason: "ClusterProfileNotFound" };
  await condition(hub, "KnativeServing", ["TargetClusterResolved", missing]);
  await flap();
  const since = new Date();
  opened.use(await pods.controller());
  await waitFor("the other replica to follow the Lease", () => isFollowed(since), patient);
  await first.stop();
  await flap();
  await Promise.all([remove(hub, kind), remove(hub, "KnativeServing")]);
  await Promise.all([gone(hub, kind, 180_000), gone(hub, "KnativeServing", 180_000)]);
}

/** The bundled plugin sees the component, on the hub and by the ClusterProfile on the spoke. */
async function seen(): Promise<void> {
  const providerFile = join(hub.folder, "providers-of-the-chart.json");
  const providers = valueAt(values, "multicluster", "accessProvidersConfig");
  await writeFile(providerFile, JSON.stringify(providers));
  const words = ["status", "-A", "--clusterprofile-provider-file", providerFile];
  const files = [dist.path("kubectl-knfleet.js"), "--kubeconfig", hub.adminKubeconfigPath];
  const ran = await runKnfleet([...files, ...words], { command: process.execPath });
  expect(rowsOf(ran.stdout)).toMatchObject([{ KIND: kind, HUB: "Ready", LIVE: "Ready" }]);
}

/** The leader does so, too, but has done it before. */
async function isFollowed(since: Date): Promise<boolean> {
  const filter = { user: "knfleet-controller", resource: "leases", verb: "watch", since };
  return (await hub.auditLog.requests(filter)).some(({ code }) => code === 200);
}

async function flap(): Promise<void> {
  await profile.update({ healthy: false });
  const unhealthy = { reason: "ClusterProfileNotReady" };
  await condition(hub, kind, ["TargetClusterResolved", unhealthy, 90_000]);
  await profile.update({ healthy: true });
  await ready(hub, kind, 180_000);
}

async function certificateMadeAnew(): Promise<void> {
  const name = "knfleet-webhook-certificates";
  const secret = { apiVersion: "v1", kind: "Secret", namespace, name };
  const garbage = "Z2FyYmFnZQ==";
  await hub.admin.patch(secret, { data: { "tls.crt": garbage } });
  const isNew = async () => valueAt(await hub.admin.get(secret), "data", "tls.crt") !== garbage;
  await waitFor("the certificate to be made anew", isNew, patient);
}

/** What the webhook refuses, asked by way of its Service. */
async function refusals(): Promise<void> {
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
  const component = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind,
    metadata: { namespace: "team", name: "wrong" },
    spec: { version: "one" },
  };
  await isRefused(() => hub.admin.create(component), /spec\.version: /);
  const map = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "knfleet-providers" };
  const before = await hub.admin.get(map);
  const spoilt = () => hub.admin.patch(map, { data: { "config.json": "{" } });
  await isRefused(spoilt, /data\["config\.json"\]/);
  // A webhook that did not answer in time does not keep anybody from writing it.
  await hub.admin.patch(map, { data: valueAt(before, "data") });
}

test("uninstalling is refused while there is a component or a set, and leaves the definitions", async () => {
  const component = await present();
  const set = { apiVersion: fleetSetApiVersion, kind: "KnativeEventingSet" };
  const { namespace: home = "" } = component.metadata;
  const spec = { clusters: { from: "Selector", selector: {} }, template: {} };
  await hub.admin.create({ ...set, metadata: { namespace: home, name: "all" }, spec });
  const release = { helm, hub, pods, place };
  const refusal = await uninstall(release);
  expect(refusal.code).not.toBe(0);
  expect(refusal.said).toContain(
    `${kind} ${component.metadata.namespace}/${component.metadata.name}`,
  );
  expect(refusal.said).toContain(`KnativeEventingSet ${home}/all`);
  expect(await helm.must("list", "--namespace", namespace, "--short")).toBe("knfleet\n");
  await hub.admin.remove({ ...set, namespace: home, name: "all" });
  await remove(hub, kind);
  await gone(hub, kind, 180_000);
  const begun = new Date();
  const done = await uninstall(release);
  expect(done).toMatchObject({ code: 0, said: "" });
  expect(await isWebhookFirst(hub, begun)).toBe(true);
  expect((await hub.admin.get(crdKey))?.metadata.deletionTimestamp).toBeUndefined();
  const left = await hub.admin.list({ apiVersion: "apps/v1", kind: "Deployment", namespace });
  expect(left).toEqual([]);
}, 300_000);
