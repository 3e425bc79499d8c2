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

  test("are silent about a component with manifests of its own", async () => {
    const spec = { ingress, workloads: [{ name: "nobody" }] };
    const additionalManifests = [{ URL: "https://example.com/a.yaml" }];
    expect(await lines(serving(spec))).toHaveLength(1);
    expect(await lines(serving({ ...spec, additionalManifests }))).toEqual([]);
  });
});
