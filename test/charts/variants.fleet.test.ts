// Servers of its own: the API server calls webhooks through an egress proxy.
import { join } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { create, gone, ready, remove } from "../e2e/installation.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster, Profile } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { manifestsIn } from "../fleet/manifest-files.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { ChartedPods, tokenOf } from "./charted-pods.ts";
import { enforced, enforcerOff, selectEverywhere, webhooksOf } from "./cloud-enforcer.ts";
import { chartFolder, Helm, type Values } from "./helm.ts";
import { isRefused } from "./refusal.ts";
import { listAt } from "./rendered.ts";
import { rightsReport } from "./rights.ts";
import { playCertManager, serveStandIns } from "./stand-ins.ts";

vi.setConfig({ testTimeout: 600_000 });

// On the hub pods become ready, so that something can be installed on it. Without WatchList both ways of following are needed.
const fleet = useFleet({
  hub: { kwok: true, egress: true, apiServerFlags: ["--feature-gates=WatchList=false"] },
  spokes: 1,
});
const patient = { timeoutMs: 90_000 };
const operator = { apiVersion: "operator.knative.dev/v1beta1" };
const opened = new AsyncDisposableStack();
let helm: Helm;
let hub: Cluster;
let profile: Profile;

beforeAll(async () => {
  hub = fleet().hub;
  helm = opened.use(await Helm.open(hub.adminKubeconfigPath));
  profile = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
  await serveStandIns(hub);
}, 600_000);

afterAll(() => opened.disposeAsync());

/** The objects of a release, those of its hooks included. */
async function objectsOf(...place: readonly string[]): Promise<readonly Manifest[]> {
  const texts = [
    await helm.must("get", "manifest", ...place),
    await helm.must("get", "hooks", ...place),
  ];
  return texts.flatMap((text) => manifestsIn(text, "The release"));
}

function eventingIn(namespace: string, spec: object): Manifest {
  return { ...operator, kind: "KnativeEventing", metadata: { namespace, name: "asked" }, spec };
}

test("controller.enabled=false, beside the upstream operator: the webhook looks at its components and its provider file, with the rights of the chart and no others", async () => {
  const since = new Date();
  const namespace = "knative-operator";
  const place = ["watch", "--namespace", namespace] as const;
  const flags = await helm.flagsOf({ file: "companion-values.yaml" });
  await helm.must("install", ...place, "--create-namespace", chartFolder, ...flags);
  const pods = new ChartedPods(hub, { namespace, name: "watch-knfleet" });
  const webhook = await pods.webhook();
  const { admin } = hub;
  await isRefused(() => admin.create(eventingIn("default", { version: "one" })), /spec\.version: /);
  // The file of upstream's chart, which has no label of ours.
  const map = {
    apiVersion: "v1",
    kind: "ConfigMap",
    namespace,
    name: "clusterprofile-provider-file",
  };
  const { namespace: at, name, ...type } = map;
  const file = (text: string) => ({
    ...type,
    metadata: { namespace: at, name },
    data: { "config.json": text },
  });
  await isRefused(() => admin.create(file("{")), /data\["config\.json"\]/);
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "/plugins/secretreader/plugin",
    provideClusterInfo: true,
  };
  const providers = [{ name: "secretreader", execConfig }];
  await waitFor(
    "the file to be taken",
    () => admin.create(file(JSON.stringify({ providers }))),
    patient,
  );
  const lost = { clusterProfileRef: { namespace: "fleet", name: "nowhere" } };
  await waitFor(
    "a component to be taken",
    () => admin.create(eventingIn("default", lost)),
    patient,
  );
  // What upstream's controller writes is not looked at: finalizer and status.
  const key = { ...operator, kind: "KnativeEventing", namespace: "default", name: "asked" };
  await admin.patch(key, { metadata: { finalizers: ["knativeeventings.operator.knative.dev"] } });
  await admin.patch(key, { status: { version: "1.22.0" } }, { subresource: "status" });
  await admin.remove(key);
  await admin.patch(key, { metadata: { finalizers: null } });
  await spoilt(namespace, "watch-knfleet-webhook-certificates");
  const account = { namespace, name: "watch-knfleet-webhook", since };
  const report = await rightsReport(hub, account, await objectsOf(...place));
  expect(report).toEqual({ refused: [], unused: [] });
  await webhook[Symbol.asyncDispose]();
  await helm.must("uninstall", ...place);
});

test("a cloud that owns the namespaceSelector of every webhook, as AKS does, is no conflict at the next upgrade", async () => {
  const place = ["clouded", "--namespace", "clouded"] as const;
  const upgrade = async (webhook: Values, ...more: readonly string[]): Promise<void> => {
    const values = { controller: { enabled: false }, webhook: { providerFile: "a", ...webhook } };
    const flags = [...(await helm.flagsOf({ values })), "--server-side=true", ...more];
    await helm.must("upgrade", ...place, chartFolder, ...flags);
  };
  // The first release has left its CRDs.
  await upgrade({}, "--install", "--create-namespace", "--take-ownership", "--force-conflicts");
  await selectEverywhere(hub, enforced);
  await upgrade({ timeoutSeconds: 7, annotations: { [enforcerOff]: "true" } });
  const found = await webhooksOf(hub);
  expect(found.metadata.annotations).toMatchObject({ [enforcerOff]: "true" });
  const webhooks = listAt(found, "webhooks");
  const expected = { namespaceSelector: enforced, timeoutSeconds: 7 };
  expect(webhooks.map((one) => valueAt(one, "name"))).toHaveLength(3);
  expect(webhooks).toEqual(webhooks.map(() => expect.objectContaining(expected)));
  await helm.must("uninstall", ...place);
});

/** Somebody spoils a certificate; the webhook makes another. */
async function spoilt(namespace: string, name: string): Promise<void> {
  const secret = { apiVersion: "v1", kind: "Secret", namespace, name };
  const garbage = "Z2FyYmFnZQ==";
  await hub.admin.patch(secret, { data: { "tls.crt": garbage } });
  const isNew = async () =>
    !JSON.stringify((await hub.admin.get(secret))?.["data"]).includes(garbage);
  await waitFor("another certificate", isNew, patient);
}

/** Everything on that other tests leave off. */
function everything(plugin: string): Values {
  const mountPath = join(hub.folder, "mounts", "plugins", "secretreader");
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: join(mountPath, plugin),
    env: [{ name: "KUBECONFIG", value: join(hub.folder, "plugin.kubeconfig") }],
    provideClusterInfo: true,
    interactiveMode: "Never",
  };
  const placed = {
    priorityClassName: "system-cluster-critical",
    tolerations: [{ operator: "Exists" }],
  };
  return {
    commonLabels: { team: "platform" },
    sets: { enabled: true },
    controller: { hubInstallations: true, shards: 3, ...placed },
    webhook: { certificates: { source: "CertManager" }, ...placed },
    metrics: {
      serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
      prometheusRule: { enabled: true },
      dashboard: { enabled: true },
    },
    networkPolicy: {
      enabled: true,
      apiServerCIDRs: ["10.0.0.1/32"],
      spokeCIDRs: ["10.1.0.0/16", "fd00::/8"],
      metricsFrom: [{ namespaceSelector: {} }],
      extraEgress: [{ to: [{ ipBlock: { cidr: "10.2.0.0/16" } }] }],
    },
    multicluster: {
      enabled: true,
      pluginDelivery: "InitContainer",
      plugins: [{ name: "secretreader", image: "example.org/a:1", mountPath, path: plugin }],
      accessProvidersConfig: { providers: [{ name: "secretreader", execConfig }] },
      credentialsNamespace: credentialNamespace,
    },
  };
}

const setThatNeverStarts: Manifest = {
  apiVersion: "knfleet.dev/v1alpha1",
  kind: "KnativeServingSet",
  metadata: { namespace: "default", name: "never" },
  spec: {
    clusters: { from: "Selector", selector: {} },
    template: {},
    rollout: { windows: [{ cron: "0 0 30 2 *", duration: "1h" }] },
  },
};

test("cert-manager, a copied plugin, the hub itself, fleet sets, shards, alerts and NetworkPolicies: components become ready on the hub and on a spoke, with the rights of the chart", async () => {
  const since = new Date();
  const namespace = "knfleet-system";
  const place = ["fleet", "--namespace", namespace] as const;
  const plugin = (await ensureBinaries(["secretreader"]))("secretreader");
  const flags = await helm.flagsOf({ values: everything(plugin) });
  const taken = ["--create-namespace", "--take-ownership", "--force-conflicts"];
  await helm.must("install", ...place, chartFolder, ...flags, ...taken);
  await playCertManager(hub, { namespace, name: "fleet-knfleet-webhook" });
  await hub.writeKubeconfig("plugin.kubeconfig", {
    identity: { token: await tokenOf(hub, { namespace, account: "fleet-knfleet-controller" }) },
    namespace: credentialNamespace,
  });
  const pods = new ChartedPods(hub, { namespace, name: "fleet-knfleet" });
  const webhook = opened.use(await pods.webhook());
  const replicas = [opened.use(await pods.controller()), opened.use(await pods.controller())];
  await isRefused(
    () => hub.admin.create(eventingIn("default", { version: "one" })),
    /spec\.version: /,
  );
  await isRefused(
    () => hub.admin.create(setThatNeverStarts),
    /spec\.rollout\.windows\[0\]\.cron: /,
  );
  const wanted = [{ kind: "KnativeServing", on: profile }, { kind: "KnativeEventing" }] as const;
  for (const one of wanted) {
    await waitFor(`${one.kind} to be taken`, () => create(hub, one), patient);
  }
  for (const { kind } of wanted) await ready(hub, kind, 240_000);
  for (const { kind } of wanted) await remove(hub, kind);
  for (const { kind } of wanted) await gone(hub, kind, 240_000);
  for (const replica of replicas) {
    expect(replica.logLines({ msg: "Took a share of the fleet" }).length).toBeGreaterThan(0);
    await replica.stop();
  }
  const objects = await objectsOf(...place);
  const reports = await Promise.all(
    ["controller", "webhook"].map((program) =>
      rightsReport(hub, { namespace, name: `fleet-knfleet-${program}`, since }, objects),
    ),
  );
  expect(reports.flatMap(({ refused }) => refused)).toEqual([]);
  await webhook.stop();
  await secondRelease();
  await helm.must("uninstall", ...place);
});

/** Another release in the same cluster does not take what the first one has. */
async function secondRelease(): Promise<void> {
  const place = ["other", "--namespace", "other-system", "--create-namespace"] as const;
  const second = await helm.run("install", ...place, chartFolder);
  expect(second.code).not.toBe(0);
  expect(second.stderr).toContain("cannot be imported into the current release");
  await helm.run("uninstall", "other", "--namespace", "other-system", "--ignore-not-found");
  // A webhook for anchors goes beside it.
  const user = "system:serviceaccount:knfleet-system:fleet-knfleet-controller";
  const beside = await helm.flagsOf({ values: { guard: { only: true, controllerUser: user } } });
  await helm.must("install", ...place, chartFolder, ...beside);
  await helm.must("uninstall", "other", "--namespace", "other-system");
}
