import { beforeAll, describe, expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import type { Releases } from "../../../render/release/releases.ts";
import { remarksOn } from "../../../render/remarks/remarks.ts";
import { eventing, serving } from "../components.ts";

let releases: Releases;

beforeAll(async () => {
  releases = await openReleases(sampleDirOf());
});

const ingress = { kourier: { enabled: true } };

async function lines(component: Component): Promise<readonly string[]> {
  const found = await remarksOn(component, { releases, version: "1.23.1" });
  return found.map(({ kind, path, message }) => `${kind} ${path}: ${message}`);
}

describe("remarks", () => {
  test("none about a spec that is done as it is written", async () => {
    const workloads = [
      {
        name: "activator",
        labels: { a: "b" },
        nodeSelector: { a: "b" },
        tolerations: [{ key: "a", operator: "Exists" }],
        hostNetwork: true,
        resources: [{ container: "activator", requests: { cpu: "1" } }],
        env: [{ container: "activator", envVars: [{ name: "A", value: "b" }] }],
      },
      { name: "autoscaler", replicas: 2 },
      { name: "webhook", replicas: 0 },
    ];
    const registry = { default: "r.example.com/${NAME}:v1", imagePullSecrets: [{ name: "s" }] };
    const config = { network: { "ingress-class": "kourier.ingress.networking.knative.dev" } };
    const spec = { ingress, workloads, registry, config, "high-availability": { replicas: 1 } };
    expect(await lines(serving(spec))).toEqual([]);
  });

  test("none about replicas that a patch fixes as the remark says", async () => {
    const workloads = [{ name: "mt-broker-ingress", replicas: 3 }];
    const target = {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      name: "broker-ingress-hpa",
    };
    const patch = (content: string) => [{ target, patch: { type: "strategic", content } }] as const;
    const fixed = patch("spec: {minReplicas: 3, maxReplicas: 3}");
    expect(await lines(eventing({ workloads, patches: fixed }))).toEqual([]);
    const other = patch("spec: {maxReplicas: 7}");
    expect(await lines(eventing({ workloads, patches: other }))).toEqual([
      expect.stringContaining("keeps 3 to 7 pods"),
    ]);
  });

  test.each<[string, Component, string]>([
    [
      "a name of an image that the release does not have",
      eventing({ registry: { override: { nobody: "a/b" } } }),
      "unmatched spec.registry.override.nobody: names no container, variable, image of a ConfigMap or cached Image of the release and changes nothing",
    ],
    [
      "a key that Knative does not know",
      serving({ ingress, config: { network: { autoTLS: "Enabled" } } }),
      "config-key spec.config.network.autoTLS: config-network of the release documents no such key, so that Knative most likely ignores it",
    ],
    [
      "replicas that an autoscaler decides on",
      eventing({ workloads: [{ name: "mt-broker-ingress", replicas: 3 }] }),
      'autoscaled spec.workloads[0].replicas: the autoscaler "broker-ingress-hpa" keeps 3 to 12 pods; for a fixed number, give it equal minReplicas and maxReplicas by a patch',
    ],
    ...[0, 5].map((replicas): [string, Component, string] => [
      `a patch of replicas that an autoscaler decides on, to ${replicas}`,
      eventing({
        patches: [
          {
            target: { apiVersion: "apps/v1", kind: "Deployment", name: "mt-broker-ingress" },
            patch: { type: "merge", content: JSON.stringify({ spec: { replicas } }) },
          },
        ],
      }),
      'autoscaled spec.patches: the autoscaler "broker-ingress-hpa" keeps 1 to 10 pods of mt-broker-ingress, whatever a patch of its replicas says; for none, set replicas: 0 in spec.workloads; for a fixed number, patch minReplicas and maxReplicas of the autoscaler',
    ]),
    [
      "pull secrets that pods in other namespaces do not get",
      eventing({ registry: { imagePullSecrets: [{ name: "s" }] } }),
      "images spec.registry.imagePullSecrets: reach the pods of the release only; eventing-controller, imc-controller make pods in the namespaces of users, whose service accounts need the secrets",
    ],
    [
      "a field of a workload that is kept for old objects",
      serving({
        ingress,
        workloads: [{ name: "activator", volumeMounts: [{ name: "a", mountPath: "/a" }] }],
      }),
      "without-effect spec.workloads[0].volumeMounts: has no effect; leave it out",
    ],
    [
      "settings of an ingress that is not enabled",
      serving({
        ingress: {
          ...ingress,
          istio: { enabled: false, "knative-local-gateway": { servers: [{ hosts: ["*"] }] } },
        },
      }),
      "without-effect spec.ingress.istio.knative-local-gateway: has no effect; leave it out",
    ],
    [
      "a value that a later override replaces",
      serving({
        ingress,
        deployments: [{ name: "activator", nodeSelector: { a: "b" } }],
        workloads: [{ name: "activator", nodeSelector: { c: "d" } }],
      }),
      "without-effect spec.deployments[0].nodeSelector: has no effect; leave it out",
    ],
    [
      "a budget's selector",
      serving({
        ingress,
        podDisruptionBudgets: [
          { name: "activator-pdb", minAvailable: 1, selector: { matchLabels: { a: "b" } } },
        ],
      }),
      "without-effect spec.podDisruptionBudgets[0].selector: has no effect; leave it out",
    ],
  ])("name %s", async (_what, component, line) => {
    expect(await lines(component)).toEqual([line]);
  });

  test("none about replicas that the autoscaler has anyway", async () => {
    const workloads = [{ name: "mt-broker-ingress", replicas: 1 }];
    expect(await lines(eventing({ workloads }))).toEqual([]);
    const more = workloads.map((one) => ({ ...one, replicas: 2 }));
    expect(await lines(eventing({ workloads: more }))).toEqual([
      expect.stringContaining("keeps 2 to 11 pods"),
    ]);
  });

  test("a spec that no API server has seen: nulls in place of maps", async () => {
    const component = serving({ ingress, registry: { default: "r.example.com/${NAME}" } });
    Object.assign(component.spec ?? {}, { config: { network: null, deployment: null } });
    Object.assign(component.spec?.registry ?? {}, { override: null });
    expect(await lines(component)).toEqual([]);
  });
});

function untried(count: number) {
  return {
    kind: "without-effect",
    path: "spec",
    message: `${count} more values were not tried for an effect; kubectl knfleet render -f FILE tries all`,
  };
}

describe("remarks on a spec with many values", () => {
  const envVars = Array.from({ length: 200 }, (_, at) => ({ name: `A${at}`, value: "b" }));
  const component = serving({
    ingress,
    workloads: [
      { name: "activator", env: [{ container: "activator", envVars }] },
      { name: "webhook", volumeMounts: [{ name: "a", mountPath: "/a" }] },
    ],
  });
  const idle = {
    kind: "without-effect",
    path: "spec.workloads[1].volumeMounts",
    message: "has no effect; leave it out",
  };

  test("are about all of them", async () => {
    expect(await remarksOn(component, { releases, version: "1.23.1" })).toEqual([idle]);
  });

  test("name how many a limit leaves out", async () => {
    const options = { releases, version: "1.23.1", maxValues: 150 };
    expect(await remarksOn(component, options)).toEqual([untried(252)]);
  });

  test("are those so far when the time is over", async () => {
    const options = { releases, version: "1.23.1", signal: AbortSignal.abort() };
    expect(await remarksOn(component, options)).toEqual([untried(402)]);
  });
});

/** The text of a Deployment of the user. */
function own(name: string): string {
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels: { "app.kubernetes.io/version": "1.23.1" } },
    spec: { template: { spec: { containers: [{ name: "user", image: "r.example.com/a:v1" }] } } },
  });
}

/** The remarks on a component whose manifests are this text. */
async function linesWith(component: Component, text: string): Promise<readonly string[]> {
  const options = { releases, version: "1.23.1", manifestText: async () => text };
  return (await remarksOn(component, options)).map(({ kind, path }) => `${kind} ${path}`);
}

describe("remarks on a component with manifests of its own", () => {
  const URL = "https://example.com/a.yaml";
  const config = JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "config-network" },
    data: { _example: "autoTLS: Enabled" },
  });
  const workloads = [{ name: "nobody", nodeSelector: { a: "b" } }];

  test("heed what the manifests add to the release", async () => {
    const spec = { ingress, workloads, additionalManifests: [{ URL }] };
    const told = ["unmatched spec.workloads[0].name"];
    expect(await linesWith(serving(spec), own("another"))).toEqual(told);
    expect(await linesWith(serving(spec), own("nobody"))).toEqual([]);
  });

  test("heed what the manifests replace of the release", async () => {
    const spec = { ingress, config: { network: { autoTLS: "Enabled" } } };
    const told = ["config-key spec.config.network.autoTLS"];
    expect(await linesWith(serving(spec), "")).toEqual(told);
    const additionalManifests = [{ URL }];
    expect(await linesWith(serving({ ...spec, additionalManifests }), config)).toEqual([]);
  });

  test("are about manifests in place of the release, too", async () => {
    const spec = { version: "1.23.1", ingress, workloads, manifests: [{ URL }] };
    expect(await linesWith(serving(spec), own("nobody"))).toEqual([]);
    expect(await linesWith(serving(spec), own("webhook"))).toEqual([
      "unmatched spec.workloads[0].name",
    ]);
  });
});
