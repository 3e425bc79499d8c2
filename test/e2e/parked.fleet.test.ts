import { expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { condition, create, ready } from "./installation.ts";
import { writesTo } from "./requests.ts";
import { useScene } from "./scene.ts";

// Nothing but what happens on the spoke makes the controller look again.
const scene = useScene({ spokes: [{ admissionWebhooks: true }] }, [
  "--remote-deployments-poll-interval=1h",
]);
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
  const message = /waiting for webhook blocker\.example\.test: Service /;
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
