import { describe, expect, test } from "vitest";

import { keyOf, type ObjectKey } from "../../../api/kubernetes.ts";
import type { KnativeServingSpec } from "../../../api/schema/component-spec.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { openInstaller, serving } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";
import { writtenTo } from "./spoke-view.ts";

const fleet = useSpokes([{ kwok: false }]);

const namespace = "knative-serving";
const apps = (name: string): ObjectKey => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  namespace,
  name,
});
const budget = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  namespace,
  name: "activator-pdb",
};
const kourierService = { apiVersion: "v1", kind: "Service", namespace, name: "kourier" };

const plain: KnativeServingSpec = { version: "1.23.0", ingress: { kourier: { enabled: true } } };

const full: KnativeServingSpec = {
  version: "1.23.0",
  ingress: { kourier: { enabled: true, "service-type": "NodePort", "http-port": 31_080 } },
  "high-availability": { replicas: 2 },
  "controller-custom-certs": { type: "ConfigMap", name: "ca" },
  registry: {
    default: "mirror.example.com/${NAME}:v1",
    imagePullSecrets: [{ name: "pull" }, { name: "pull" }],
  },
  resources: [{ container: "autoscaler", limits: { cpu: 2, memory: "2048Mi" } }],
  podDisruptionBudgets: [{ name: "activator-pdb", maxUnavailable: 1 }],
  services: [{ name: "kourier", labels: { extra: "1" } }],
  workloads: [
    {
      name: "controller",
      replicas: 3,
      hostNetwork: true,
      labels: { team: "x" },
      annotations: { note: "y" },
      nodeSelector: { pool: "knative" },
      tolerations: [{ operator: "Exists" }],
      affinity: {},
      livenessProbes: [{ container: "controller" }],
      readinessProbes: [{ container: "controller", periodSeconds: 7 }],
      env: [
        {
          container: "controller",
          envVars: [
            { name: "POD_NAME", value: "fixed" },
            { name: "SSL_CERT_DIR", value: "/elsewhere" },
          ],
        },
      ],
    },
  ],
};

describe("the common fields of a component on a real API server", () => {
  test("take effect, are written once, and go when the component no longer has them", async () => {
    const spoke = fleet().spoke(0);
    const component = serving(full);
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;

    expect(await installer.install()).toMatchObject({ failed: [], parked: [] });
    expect(await spoke.admin.get(apps("controller"))).toMatchObject({
      metadata: { labels: { team: "x" }, annotations: { note: "y" } },
      spec: {
        replicas: 3,
        template: {
          metadata: { labels: { team: "x" }, annotations: { note: "y" } },
          spec: {
            hostNetwork: true,
            dnsPolicy: "ClusterFirstWithHostNet",
            imagePullSecrets: [{ name: "pull" }],
            nodeSelector: { pool: "knative" },
            tolerations: [{ operator: "Exists" }],
            affinity: {},
            volumes: [{ name: "custom-certs-ca", configMap: { name: "ca" } }],
            containers: [
              {
                image: "mirror.example.com/controller:v1",
                readinessProbe: { periodSeconds: 7 },
                volumeMounts: [{ name: "custom-certs-ca", mountPath: "/custom-certs" }],
                env: expect.arrayContaining([
                  { name: "POD_NAME", value: "fixed" },
                  { name: "SSL_CERT_DIR", value: "/custom-certs" },
                ]),
              },
            ],
          },
        },
      },
    });
    expect(JSON.stringify(await spoke.admin.get(apps("controller")))).not.toContain(
      '"livenessProbe":',
    );
    expect(await spoke.admin.get(apps("autoscaler"))).toMatchObject({
      spec: {
        replicas: 2,
        template: {
          spec: { containers: [{ resources: { limits: { cpu: "2", memory: "2Gi" } } }] },
        },
      },
    });
    expect(await spoke.admin.get(kourierService)).toMatchObject({
      metadata: { labels: { extra: "1" } },
      spec: {
        type: "NodePort",
        ports: expect.arrayContaining([expect.objectContaining({ nodePort: 31_080 })]),
      },
    });
    const changed = (await spoke.admin.get(budget))?.["spec"];
    expect(changed).toMatchObject({ maxUnavailable: 1 });
    expect(changed).not.toHaveProperty("minAvailable");

    const since = new Date();
    await installer.install();
    expect(await writtenTo(spoke, since)).toEqual([]);

    const changes = await installer.install({ component: { ...component, spec: plain } });
    expect(changes).toMatchObject({ failed: [], parked: [] });
    const controller = JSON.stringify(await spoke.admin.get(apps("controller")));
    for (const gone of [
      "hostNetwork",
      "imagePullSecrets",
      "custom-certs",
      "mirror.example.com",
      "team",
    ]) {
      expect(controller).not.toContain(`"${gone}`);
    }
    expect(controller).toContain('"livenessProbe":');
    expect(await spoke.admin.get(budget)).toMatchObject({ spec: { minAvailable: "80%" } });
    expect(await spoke.admin.get(kourierService)).toMatchObject({
      spec: { type: "LoadBalancer" },
    });
  });
});

test("a user's own webhook configuration is as the manifest says, also with what comes into it later", async () => {
  const spoke = fleet().spoke(0);
  await using opened = await openInstaller(spoke, { component: serving({}, { namespace: "own" }) });
  const { installer } = opened;
  const rule = {
    apiGroups: ["a.b"],
    apiVersions: ["v1"],
    operations: ["CREATE"],
    resources: ["c"],
  };
  const clientConfig = { url: "https://policy.example.com/", caBundle: btoa(spoke.caPem) };
  const webhook = { name: "policy.example.com", rules: [rule], clientConfig };
  const fields = { sideEffects: "None", admissionReviewVersions: ["v1"] };
  const configurationOf = (extra: object) =>
    manifestOf(`admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration policy`, {
      webhooks: [{ ...webhook, ...fields, ...extra }],
    });
  const configuration = configurationOf({});
  const live = async () => valueAt(await spoke.admin.get(keyOf(configuration)), "webhooks", 0);
  await installer.install({ rendered: renderedOf(configuration) });
  expect(await live()).toMatchObject(webhook);
  const objectSelector = { matchLabels: { a: "b" } };
  await installer.install({ rendered: renderedOf(configurationOf({ objectSelector })) });
  expect(await live()).toMatchObject({ ...webhook, objectSelector });
  await spoke.admin.remove(keyOf(configuration));
});
