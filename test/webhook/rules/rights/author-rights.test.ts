import { describe, expect, test } from "vitest";

import { inPod, linesFor, patch } from "./rightless-author.ts";

const pinned = "#sha256=2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
const manifests = [{ URL: `https://example.com/\${VERSION}/a.yaml${pinned}` }];
const variable = (name: string) => ({ container: "controller", envVars: [{ name, value: "a" }] });
const workload = (fields: object) => ({ workloads: [{ name: "controller", ...fields }] });

/** The refusals for lack of the right, without the author. */
async function refusedFor(
  spec: object,
  changes: Parameters<typeof linesFor>[1] = {},
): Promise<readonly string[]> {
  const lines = (await linesFor(spec, changes)).filter((line) => line.startsWith("403"));
  return lines.map((line) =>
    line.replace(/^403 (.*): user .* may not "apply-cluster-scoped", which (.*) needs$/, "$1: $2"),
  );
}

describe("a setting that brings more than Knative needs the right, and the stored one does not", () => {
  test.each([
    [{ manifests, version: "1.23" }, "spec.manifests: a manifest of one's own"],
    [{ additionalManifests: manifests }, "spec.additionalManifests: a manifest of one's own"],
    [{ registry: { default: "mine/${NAME}" } }, "spec.registry.default: an image of one's own"],
    [
      { registry: { override: { "controller/controller": "mine" } } },
      'spec.registry.override["controller/controller"]: an image of one\'s own',
    ],
    [
      { registry: { override: { PING_IMAGE: "mine" } } },
      "spec.registry.override.PING_IMAGE: an image of one's own",
    ],
    [workload({ hostNetwork: true }), "spec.workloads[0].hostNetwork: hostNetwork"],
    [
      { deployments: [{ name: "controller", hostNetwork: true }] },
      "spec.deployments[0].hostNetwork: hostNetwork",
    ],
    [
      workload({ env: [variable("A"), variable("APISERVER_RA_IMAGE")] }),
      'spec.workloads[0].env[1].envVars[0]: the variable "APISERVER_RA_IMAGE"',
    ],
    [
      workload({ env: [variable("KUBERNETES_SERVICE_HOST")] }),
      'spec.workloads[0].env[0].envVars[0]: the variable "KUBERNETES_SERVICE_HOST"',
    ],
    [
      workload({ annotations: { "sidecar.istio.io/userVolume": "[]" } }),
      'spec.workloads[0].annotations["sidecar.istio.io/userVolume"]: the annotation "sidecar.istio.io/userVolume"',
    ],
    [
      workload({
        annotations: { "container.apparmor.security.beta.kubernetes.io/a": "unconfined" },
      }),
      'spec.workloads[0].annotations["container.apparmor.security.beta.kubernetes.io/a"]: the annotation "container.apparmor.security.beta.kubernetes.io/a"',
    ],
    [
      { config: { deployment: { "queue-sidecar-image": "mine" } } },
      'spec.config.deployment.queue-sidecar-image: the setting "queue-sidecar-image"',
    ],
    [
      { config: { "eventing-integrations-images": { "log-sink": "mine" } } },
      'spec.config.eventing-integrations-images.log-sink: the setting "log-sink"',
    ],
    [
      { config: { features: { "kubernetes.podspec-volumes-hostpath": "enabled" } } },
      'spec.config.features["kubernetes.podspec-volumes-hostpath"]: the setting "kubernetes.podspec-volumes-hostpath"',
    ],
    [
      { namespace: { labels: { a: "b", "admission.gatekeeper.sh/ignore": "true" } } },
      'spec.namespace.labels["admission.gatekeeper.sh/ignore"]: the namespace\'s label "admission.gatekeeper.sh/ignore"',
    ],
    [
      { namespaceConfiguration: { annotations: { "openshift.io/sa.scc.uid-range": "0/1" } } },
      'spec.namespaceConfiguration.annotations["openshift.io/sa.scc.uid-range"]: the namespace\'s annotation "openshift.io/sa.scc.uid-range"',
    ],
    [
      { patches: [patch("merge", inPod({ hostPID: true }))] },
      'spec.patches[0]: a patch of "spec.template.spec.hostPID"',
    ],
  ])("%j", async (spec, line) => {
    expect(await refusedFor(spec)).toEqual([line]);
    expect(await refusedFor(spec, { before: {} })).toEqual([line]);
    const other = { ...spec, "high-availability": { replicas: 3 } };
    expect(await refusedFor(other, { before: spec })).toEqual([]);
    expect(await refusedFor({}, { before: spec })).toEqual([]);
  });

  test.each([
    "SYSTEM_NAMESPACE",
    "KUBECONFIG",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "NODE_OPTIONS",
    "LD_PRELOAD",
  ])("the variable %s", async (name) => {
    expect(await refusedFor(workload({ env: [variable(name)] }))).toEqual([
      `spec.workloads[0].env[0].envVars[0]: the variable "${name}"`,
    ]);
  });

  test.each([
    "vault.hashicorp.com/agent-image",
    "dapr.io/sidecar-image",
    "instrumentation.opentelemetry.io/inject-java",
    "config.alpha.linkerd.io/proxy",
    "example.com/a",
  ])("the annotation %s", async (name) => {
    expect(await refusedFor(workload({ annotations: { [name]: "mine" } }))).toEqual([
      `spec.workloads[0].annotations["${name}"]: the annotation "${name}"`,
    ]);
  });

  test.each([
    { registry: { default: "", override: { a: "" }, imagePullSecrets: [{ name: "a" }] } },
    workload({ hostNetwork: false, env: [variable("A"), variable("KUBERNETES_MIN_VERSION")] }),
    workload({ annotations: { "sidecar.istio.io/inject": "false", "prometheus.io/port": "b" } }),
    { config: { features: { "kubernetes.podspec-volumes-hostpath": "disabled", a: "enabled" } } },
    {
      namespace: {
        labels: { "istio-injection": "enabled", "istio.io/rev": "stable" },
        annotations: { "linkerd.io/inject": "enabled", owner: "team-a" },
      },
    },
  ])("but for %j", async (spec) => {
    expect(await refusedFor(spec)).toEqual([]);
  });
});

describe("what stands already does not cover", () => {
  test.each([
    [
      "a version that changes the URL",
      { additionalManifests: manifests, version: "1.22" },
      { additionalManifests: manifests, version: "1.23" },
    ],
    ["another image", { registry: { default: "a" } }, { registry: { default: "b" } }],
    [
      "an image of another container",
      { registry: { override: { a: "a" } } },
      { registry: { override: { b: "a" } } },
    ],
    [
      "the network of another workload",
      { workloads: [{ name: "a", hostNetwork: true }] },
      { workloads: [{ name: "b", hostNetwork: true }] },
    ],
    [
      "a patch more",
      { patches: [patch("merge", inPod({ hostPID: true }))] },
      {
        patches: [
          patch("merge", inPod({ hostPID: true })),
          patch("merge", inPod({ hostIPC: true })),
        ],
      },
    ],
  ])("%s", async (_name, before, spec) => {
    expect(await refusedFor(spec, { before })).not.toEqual([]);
  });

  test("and harmless patches beside it need nothing", async () => {
    const stored = patch("merge", inPod({ hostPID: true }));
    const before = { patches: [stored] };
    const spec = { patches: [patch("merge", { spec: { replicas: 2 } }), stored] };
    expect(await refusedFor(spec, { before })).toEqual([]);
  });
});
