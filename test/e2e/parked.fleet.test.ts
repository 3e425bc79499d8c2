import { expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { startControllerProcess, type ControllerProcess } from "../support/controller-process.ts";
import { change, condition, create, gone, read, ready, remove } from "./installation.ts";
import { writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";

// Nothing but what happens on the spoke makes the controller look again.
const scene = useScene(
  { spokes: [{ admissionWebhooks: true }, { admissionWebhooks: true, kwok: false }] },
  { flags: ["--remote-deployments-poll-interval=1h"] },
);
const kind = "KnativeEventing";
const namespace = "knative-eventing";
const patience = { timeoutMs: 120_000 };

/** Keeps Services from being written: it calls a Service that does not exist. */
const blocker: Manifest = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "blocker" },
  webhooks: [
    {
      name: "blocker.example.test",
      clientConfig: { service: { namespace: "default", name: "nobody", path: "/" } },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["services"] }],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      failurePolicy: "Fail",
      timeoutSeconds: 1,
    },
  ],
};

function admin() {
  return scene().fleet.spoke(0).admin;
}

async function cordon(unschedulable: boolean): Promise<void> {
  const nodes = await admin().list({ apiVersion: "v1", kind: "Node" });
  const keys = nodes.map(({ metadata: { name } }) => ({ apiVersion: "v1", kind: "Node", name }));
  await Promise.all(keys.map((key) => admin().patch(key, { spec: { unschedulable } })));
}

async function isBlocked(): Promise<boolean> {
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "probe", namespace },
    spec: { ports: [{ port: 80 }] },
  };
  return admin()
    .apply(service)
    .then(
      () => false,
      () => true,
    );
}

test("what waits for a webhook is sent when something happens to a Deployment, without being asked, and nothing else is sent twice", async () => {
  const { hub, fleet, profiles } = scene();
  const spoke = fleet.spoke(0);
  await cordon(true);
  await admin().apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await admin().create(blocker);
  await waitFor("the webhook to be called", isBlocked, patience);
  const component = await create(hub, { kind, on: profiles[0] });
  const message =
    /waiting for webhook blocker\.example\.test of ValidatingWebhookConfiguration blocker: Service /;
  await condition(hub, kind, ["InstallSucceeded", { status: "Unknown", message }]);
  await condition(hub, kind, ["DeploymentsAvailable", { status: "False" }]);
  const since = new Date();
  await admin().remove({ ...blocker, name: "blocker" });
  await waitFor("the webhook to be forgotten", async () => !(await isBlocked()), patience);
  await cordon(false);
  await ready(hub, kind, patience.timeoutMs);
  const services = { apiVersion: "v1", kind: "Service", namespace };
  const ours = (await admin().list(services)).filter(({ metadata }) =>
    Object.values(metadata.labels ?? {}).includes(component.metadata.uid),
  );
  expect(ours.length).toBeGreaterThan(0);
  const applied = (await writesTo(spoke, since)).filter(
    ({ verb, resource }) => verb === "patch" && resource !== "configmaps",
  );
  expect(new Set(applied.map(({ resource }) => resource))).toEqual(new Set(["services"]));
}, 400_000);

const ownWebhook = "config.webhook.serving.knative.dev";

/** What a pod of Knative's webhook writes into its configuration when it runs. */
const ownRule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["configmaps/*", "configmaps"],
  scope: "Namespaced",
};

/** A controller whose clock goes four minutes ahead with each SIGUSR2, and that looks every second at first. */
async function jumpingController(): Promise<ControllerProcess> {
  const { fleet, controller } = scene();
  await controller.stop();
  return startControllerProcess({
    kubeconfig: await fleet.controllerKubeconfig(),
    providerFile: await fleet.providerFile(),
    releaseDir: sampleDirOf(),
    flags: ["--remote-deployments-poll-interval=1s"],
    environment: { NODE_OPTIONS: `--import=${import.meta.resolve("../support/jumping-clock.ts")}` },
  });
}

async function unblockings(uid: string): Promise<number> {
  const events = await scene().hub.admin.list({ apiVersion: "v1", kind: "Event" });
  const ours = events.filter(
    (event) =>
      valueAt(event, "involvedObject", "uid") === uid && event["reason"] === "WebhookUnblocked",
  );
  return ours.reduce((sum, event) => sum + Number(event["count"] ?? 1), 0);
}

test(
  "a webhook of Knative's own that has been dead for minutes loses its rules once, which an Event tells, and then its ConfigMaps are written (engine-facts 1)",
  { timeout: 400_000 },
  async () => {
    const { hub, fleet, profiles } = scene();
    const spoke = fleet.spoke(1).admin;
    const serving = "KnativeServing";
    await using controller = await jumpingController();
    const { metadata } = await create(hub, { kind: serving, on: profiles[1] });
    // There are no nodes, so nothing will ever be available.
    const applied = /^(\d+) of \1 objects applied$/;
    await condition(hub, serving, ["InstallSucceeded", { message: applied }]);
    const configuration = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      name: ownWebhook,
    };
    const first = Object(valueAt(await spoke.get(configuration), "webhooks", 0));
    await spoke.patch(configuration, { webhooks: [{ ...first, rules: [ownRule] }] });
    const config = {
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: "knative-serving",
      name: "config-logging",
    };
    const refused = async () =>
      spoke.patch(config, { metadata: { annotations: { tried: "yes" } } }).then(
        () => false,
        () => true,
      );
    await waitFor("the webhook to be in force", refused, patience);
    const parked = () => controller.logLines({ msg: "Applied manifests", parked: 1 }).length;
    const parkedBefore = parked();
    await change(hub, serving, { config: { logging: { "loglevel.controller": "debug" } } });
    const waiting = new RegExp(
      `1 waiting for webhook ${ownWebhook.replaceAll(".", "\\.")} of ValidatingWebhookConfiguration ${ownWebhook}: ConfigMap`,
    );
    await condition(hub, serving, ["InstallSucceeded", { status: "Unknown", message: waiting }]);
    // The status says so before the attempt ends, from which on the time counts.
    await expect.poll(parked).toBeGreaterThan(parkedBefore);
    expect(await unblockings(metadata.uid)).toBe(0);
    const deployment = { namespace: "knative-serving", name: "autoscaler-hpa" };
    const isApplied = async () => {
      const found = conditionOf(await read(hub, serving), "InstallSucceeded");
      if (applied.test(String(found?.message))) return true;
      // An attempt that a busy machine broke off begins to count anew.
      process.kill(controller.pid, "SIGUSR2");
      // For the controller minutes have passed without a change, and it waits as many for the next one.
      await spoke.remove({ apiVersion: "apps/v1", kind: "Deployment", ...deployment });
      return false;
    };
    await waitFor("the ConfigMap to be written", isApplied, { ...patience, everyMs: 3_000 });
    expect(valueAt(await spoke.get(config), "data", "loglevel.controller")).toBe("debug");
    expect(valueAt(await spoke.get(configuration), "webhooks", 0, "rules")).toBeUndefined();
    await waitFor("an Event", async () => (await unblockings(metadata.uid)) === 1, patience);
    await remove(hub, serving);
    await gone(hub, serving);
  },
);
