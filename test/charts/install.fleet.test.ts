import { cp, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import type { ComponentKind } from "../../api/component.ts";
import type { KubeObject, Manifest } from "../../api/kubernetes.ts";
import { condition, create, gone, ready, remove, type Wanted } from "../e2e/installation.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { manifestsIn } from "../fleet/manifest-files.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { ChartedPods, tokenOf } from "./charted-pods.ts";
import { followExamples, forgetExamples } from "./example-fleet.ts";
import { chartFolder, Helm, type Values } from "./helm.ts";
import { isRefused } from "./refusal.ts";
import { listAt } from "./rendered.ts";
import { rightsReport } from "./rights.ts";

vi.setConfig({ testTimeout: 600_000 });

// Without nodes no kubelet plays along: what runs in a pod is what a test runs. Without WatchList both ways of following are needed,
// `list` for API servers that do not have it.
const fleet = useFleet({
  hub: { kwok: false, egress: true, apiServerFlags: ["--feature-gates=WatchList=false"] },
  spokes: 1,
});
const namespace = "knfleet-system";
const release = ["knfleet", "--namespace", namespace] as const;
const patient = { timeoutMs: 90_000 };
const kind = "KnativeEventing";
const opened = new AsyncDisposableStack();
let helm: Helm;
let hub: Cluster;
let profile: Profile;
let pods: ChartedPods;
let values: Values;
let since = new Date();
let pluginKubeconfig = "";

const crdKey = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "knativeeventings.operator.knative.dev",
};

beforeAll(async () => {
  since = new Date();
  hub = fleet().hub;
  helm = opened.use(await Helm.open(hub.adminKubeconfigPath));
  pods = new ChartedPods(hub, { namespace, name: "knfleet" });
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

/** The chart as somebody packaged it before: an older version, whose definitions lack a column. */
async function previousChart(): Promise<string> {
  const folder = join(hub.folder, "previous", "knfleet");
  await cp(chartFolder, folder, { recursive: true });
  const edit = async (file: string, change: (text: string) => string) => {
    const path = join(folder, file);
    await writeFile(path, change(await readFile(path, "utf8")));
  };
  await edit("Chart.yaml", (text) => text.replace(/^version: .*$/m, "version: 0.0.1"));
  await edit("files/crds/operator.knative.dev_knativeeventings.yaml", (text) =>
    text.replace(/ {8}- name: Target Cluster\n.*\n.*\n/, ""),
  );
  await helm.must("package", folder, "--destination", hub.folder);
  return join(hub.folder, "knfleet-0.0.1.tgz");
}

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
    helm.must("get", "manifest", ...release),
    helm.must("get", "hooks", ...release),
  ]);
  return [...manifestsIn(main, "The release"), ...manifestsIn(hooks, "The release")];
}

test("definitions of somebody else are not touched without being asked, and taken over when asked", async () => {
  const chart = await previousChart();
  const flags = await helm.flagsOf({ values });
  const refused = await helm.run("install", ...release, chart, ...flags);
  expect(refused.stderr).toContain("cannot be imported into the current release");
  const taken = ["--take-ownership", "--force-conflicts"];
  await helm.must("install", ...release, chart, ...flags, ...taken);
  expect(await columns()).not.toContain("Target Cluster");
  const crd = await hub.admin.get(crdKey);
  expect(crd?.metadata.annotations).toMatchObject({
    "meta.helm.sh/release-name": "knfleet",
    "helm.sh/resource-policy": "keep",
  });
});

test("an upgrade brings new definitions, a rollback the old ones, and neither loses the caBundle", async () => {
  const flags = await helm.flagsOf({ values });
  const webhook = await pods.webhook();
  const before = await waitFor(
    "a caBundle",
    async () => {
      const bundles = await trusted();
      return bundles.every((one) => typeof one === "string" && one !== "") && bundles;
    },
    patient,
  );
  await helm.must("upgrade", ...release, chartFolder, ...flags);
  expect(await columns()).toContain("Target Cluster");
  await helm.must("rollback", ...release, "1");
  expect(await columns()).not.toContain("Target Cluster");
  await helm.must("upgrade", ...release, chartFolder, ...flags);
  expect(await columns()).toContain("Target Cluster");
  expect(await trusted()).toEqual(before);
  await webhook[Symbol.asyncDispose]();
});

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

test("the example fleet is taken as it stands, and its early clusters follow the canary", async () => {
  await using webhook = await pods.webhook();
  const components = await followExamples(hub);
  const versions = components.map(({ kind: its, metadata, spec }) => {
    const stage = metadata.labels?.["stage"];
    return `${its} ${stage} ${String(valueAt(spec, "version"))}`;
  });
  const count = (what: string) => versions.filter((one) => one === what).length;
  expect(count("KnativeServing canary 1.23")).toBe(1);
  expect(count("KnativeServing early 1.23")).toBe(3);
  expect(count("KnativeServing main 1.22")).toBe(6);
  expect(components).toHaveLength(14);
  const asked = webhook.lines("Refused");
  expect(asked).toEqual([]);
  await forgetExamples(hub);
});

test("what runs in the pods does the main job and answers reviews, with the rights of the chart and no others", async () => {
  await hub.writeKubeconfig("plugin.kubeconfig", {
    identity: { token: await tokenOf(hub, { namespace, account: "knfleet-controller" }) },
    namespace: credentialNamespace,
  });
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
  // Needed when somebody else wrote the component in the same moment, which does not happen each time.
  const afterConflict = [
    "get operator.knative.dev/knativeservings",
    "get operator.knative.dev/knativeeventings",
  ];
  expect(reports.flatMap(({ refused }) => refused)).toEqual([]);
  const unused = reports.flatMap((report) => report.unused);
  expect(unused.filter((right) => !afterConflict.includes(right))).toEqual([]);
}, 600_000);

/** Creates a component, once more where a busy hub did not answer the webhook in time (code 500). */
function created(wanted: Wanted): Promise<KubeObject> {
  return waitFor(`${wanted.kind} to be taken`, () => create(hub, wanted), patient);
}

/** Installs, loses the spoke and finds it again, hands over to another replica, and removes. */
async function installations(first: ControllerProcess): Promise<void> {
  await created({ kind, on: profile });
  await ready(hub, kind, 180_000);
  // A component that cannot be installed, and one that is looked at again: what is said twice is counted up.
  const nowhere = { namespace: "fleet", name: "nowhere" };
  await created({ kind: "KnativeServing", on: nowhere });
  const missing = { reason: "ClusterProfileNotFound" };
  await condition(hub, "KnativeServing", ["TargetClusterResolved", missing]);
  await flap();
  opened.use(await pods.controller());
  await waitFor("the other replica to follow the Lease", isFollowed, patient);
  await first.stop();
  await flap();
  await Promise.all([remove(hub, kind), giveUp("KnativeServing")]);
  await Promise.all([gone(hub, kind, 180_000), gone(hub, "KnativeServing", 180_000)]);
}

/** Removes a component whose cluster will never be there. */
async function giveUp(lost: ComponentKind): Promise<void> {
  const { apiVersion, metadata } = await condition(hub, lost, ["Ready", {}]);
  const { namespace: at = "", name, uid } = metadata;
  const annotations = { "knfleet.dev/force-orphan": uid };
  await hub.admin.patch(
    { apiVersion, kind: lost, namespace: at, name },
    { metadata: { annotations } },
  );
  await remove(hub, lost);
}

async function isFollowed(): Promise<boolean> {
  const filter = { user: "knfleet-controller", resource: "leases", verb: "watch" };
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

test("uninstalling is refused while there is a component, and leaves the definitions", async () => {
  const component = await created({ kind, on: profile });
  const refusal = await uninstalled();
  expect(refusal.code).not.toBe(0);
  expect(refusal.said).toContain(
    `${kind} ${component.metadata.namespace}/${component.metadata.name}`,
  );
  expect(await helm.must("list", "--namespace", namespace, "--short")).toBe("knfleet\n");
  await remove(hub, kind);
  await gone(hub, kind, 180_000);
  const done = await uninstalled();
  expect(done).toMatchObject({ code: 0, said: "" });
  expect((await hub.admin.get(crdKey))?.metadata.deletionTimestamp).toBeUndefined();
  const left = await hub.admin.list({ apiVersion: "apps/v1", kind: "Deployment", namespace });
  expect(left).toEqual([]);
}, 300_000);

/** `helm uninstall`, with the pod of its hook played. */
async function uninstalled(): Promise<{ readonly code: number; readonly said: string }> {
  const uninstall = helm.run("uninstall", ...release, "--timeout", "4m");
  const labelSelector = "app.kubernetes.io/component=uninstall-check";
  const pod = await waitFor(
    "the pod of the hook",
    async () => {
      const all = await hub.admin.list({ apiVersion: "v1", kind: "Pod", namespace, labelSelector });
      return all.find((one) => valueAt(one, "status", "phase") === "Pending");
    },
    patient,
  );
  const { code, stderr } = await pods.toItsEnd(pod);
  await endPod(pod, code);
  return { code: (await uninstall).code, said: stderr };
}

async function endPod({ metadata: { name } }: KubeObject, code: number): Promise<void> {
  const key = { apiVersion: "v1", kind: "Pod", namespace, name };
  const status = { phase: code === 0 ? "Succeeded" : "Failed" };
  await hub.admin.patch(key, { status }, { subresource: "status" });
}
