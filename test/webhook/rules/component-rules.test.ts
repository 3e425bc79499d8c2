import { describe, expect, test } from "vitest";

import { componentRules } from "../../../webhook/rules/component-rules.ts";
import { linesOf, review, written } from "../component-stage.ts";

const wrong: readonly (readonly [string, unknown, string])[] = [
  ["shape", { manifests: 1 }, "422 spec.manifests: must be array"],
  ["shape", { "high-availability": {} }, "422 spec.high-availability.replicas: is required"],
  ["shape", { workloads: [{}] }, "422 spec.workloads[0].name: is required"],
  ["shape", { config: { "a.b": { c: 1 } } }, '422 spec.config["a.b"].c: must be string'],
  [
    "manifest-url",
    { manifests: [{ URL: "http://a/b" }] },
    "422 spec.manifests[0].URL: is not allowed: it does not begin with https://",
  ],
  [
    "registry",
    { registry: { default: "Not An Image" } },
    "422 spec.registry.default: must be an image reference",
  ],
  [
    "registry",
    { registry: { default: "a/${VERSION}" } },
    "422 spec.registry.default: the only placeholder is ${NAME}",
  ],
  [
    "registry",
    { registry: { override: { queue: "a b" } } },
    "422 spec.registry.override.queue: must be an image reference",
  ],
  [
    "registry",
    { registry: { imagePullSecrets: [{ name: "A" }] } },
    "422 spec.registry.imagePullSecrets[0].name: must be",
  ],
  [
    "labels",
    { workloads: [{ name: "a", labels: { "a b": "c" } }] },
    '422 spec.workloads[0].labels["a b"]: the name of the key',
  ],
  [
    "labels",
    { services: [{ name: "a", selector: { a: "!" } }] },
    "422 spec.services[0].selector.a: the value",
  ],
  [
    "config",
    { config: { network: { "a/b": "c" } } },
    '422 spec.config.network["a/b"]: the key must be',
  ],
  [
    "disruption-budgets",
    { podDisruptionBudgets: [{ name: "a", minAvailable: 1, maxUnavailable: "1%" }] },
    "422 spec.podDisruptionBudgets[0]: minAvailable and maxUnavailable exclude each other",
  ],
  [
    "disruption-budgets",
    { podDisruptionBudgets: [{ name: "a", minAvailable: "1" }] },
    "422 spec.podDisruptionBudgets[0].minAvailable: must be",
  ],
  [
    "kourier",
    { ingress: { kourier: { enabled: true, "http-port": 30_080 } } },
    '422 spec.ingress.kourier.http-port: cannot configure HTTPPort for service type "LoadBalancer"',
  ],
  [
    "kourier",
    { ingress: { kourier: { enabled: true, "service-type": "ExternalName" } } },
    "422 spec.ingress.kourier.service-type: must be",
  ],
  [
    "kourier",
    {
      ingress: {
        kourier: {
          enabled: true,
          "service-type": "NodePort",
          "service-load-balancer-ip": "10.0.0.1",
        },
      },
    },
    "422 spec.ingress.kourier.service-load-balancer-ip: cannot configure LoadBalancerIP",
  ],
  [
    "custom-certs",
    { "controller-custom-certs": { type: "File", name: "a" } },
    "422 spec.controller-custom-certs.type: must be ConfigMap or Secret",
  ],
  [
    "custom-certs",
    { "controller-custom-certs": { type: "", name: "a" } },
    "422 spec.controller-custom-certs.type: must be ConfigMap or Secret",
  ],
  [
    "custom-certs",
    { "controller-custom-certs": { type: "Secret", name: "" } },
    "422 spec.controller-custom-certs.name: must be",
  ],
  [
    "istio",
    {
      ingress: {
        istio: {
          enabled: true,
          "knative-local-gateway": { servers: [{ tls: { minProtocolVersion: 9 } }] },
        },
      },
    },
    "422 spec.ingress.istio.knative-local-gateway.servers[0].tls.minProtocolVersion: must be",
  ],
  [
    "replicas",
    { "high-availability": { replicas: -1 } },
    "422 spec.high-availability.replicas: must not be negative",
  ],
  [
    "variables",
    {
      workloads: [
        {
          name: "a",
          env: [
            {
              container: "c",
              envVars: [
                { name: "A", value: "b", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
              ],
            },
          ],
        },
      ],
    },
    "422 spec.workloads[0].env[0].envVars[0]: value and valueFrom exclude each other",
  ],
  [
    "namespace",
    { namespace: { labels: { "kubernetes.io/metadata.name": "a" } } },
    '422 spec.namespace.labels["kubernetes.io/metadata.name"]: is set by',
  ],
];

describe("what upstream's controller or the cluster would reject later", () => {
  test.each(wrong)("%s: %j", async (rule, spec, line) => {
    const ruling = await review(written(spec));
    expect(linesOf(ruling)).toEqual([expect.stringContaining(line)]);
    expect(ruling.violations[0]?.rule).toBe(rule);
  });

  test("all of it is told at once, one line each", async () => {
    const all = wrong
      .filter(([rule]) => rule !== "shape" && rule !== "kourier")
      .map(([, spec]) => spec);
    const spec = Object.assign({}, ...all.map((one) => JSON.parse(JSON.stringify(one))));
    const rules = new Set((await review(written(spec))).violations.map(({ rule }) => rule));
    expect(rules.size).toBeGreaterThanOrEqual(9);
  });

  test("an unknown type of Kourier's Service hides nothing else about it", async () => {
    const kourier = {
      enabled: true,
      "service-type": "ExternalName",
      "http-port": 70_000,
      "https-port": 30_443,
      "bootstrap-configmap": "A",
    };
    const { violations } = await review(written({ ingress: { kourier } }));
    expect(violations.map(({ path }) => path)).toEqual([
      "spec.ingress.kourier.service-type",
      "spec.ingress.kourier.http-port",
      "spec.ingress.kourier.bootstrap-configmap",
    ]);
  });

  test("every rule has a code of the protocol", () => {
    const codes = Object.values(componentRules).map(({ code }) => code);
    expect(codes.every((code) => [403, 409, 422, 500].includes(code))).toBe(true);
  });
});

const fromHost = (host: string) => ({
  version: "1.23.0",
  additionalManifests: [{ URL: `https://${host}/\${VERSION}/a.yaml` }],
});
const mayNotApply = (_user: string, { verb }: { readonly verb: string }) =>
  verb !== "apply-cluster-scoped";

describe("T-30, T-31 the URLs of manifests", () => {
  test.each([
    "/etc/passwd",
    "file:///etc/passwd",
    "data:text/yaml,a",
    "http://example.com/a.yaml",
    "https://example.com/a.yaml,https://example.com/b.yaml",
    "https://example.com/../a.yaml",
    "https://example.com/%2e%2e/a.yaml",
    "https://example.com/a\0.yaml",
    `https://example.com/${"a".repeat(2_048)}`,
    "https://user:password@example.com/a.yaml",
    "https://example.com/a.yaml#sha256=12",
    "",
  ])("%# is refused in either list", async (URL) => {
    const ruling = await review(
      written({ version: "1.23.0", manifests: [{ URL }], additionalManifests: [{ URL }] }),
    );
    expect(ruling.violations.map(({ rule, path, code }) => [rule, path, code])).toEqual([
      ["manifest-url", "spec.manifests[0].URL", 422],
      ["manifest-url", "spec.additionalManifests[0].URL", 422],
    ]);
    expect(JSON.stringify(ruling)).not.toContain("password@");
  });

  test("T-31 only what the operator of the hub allows, with ${VERSION} filled in", async () => {
    const manifestSources = [{ origin: "https://example.com", path: "/1.23.0/" }];
    expect(linesOf(await review(written(fromHost("example.com")), { manifestSources }))).toEqual(
      [],
    );
    expect(linesOf(await review(written(fromHost("example.org")), { manifestSources }))[0]).toMatch(
      /^403 spec\.additionalManifests\[0\]\.URL: ManifestSourceNotAllowed/,
    );
    expect(
      linesOf(await review(written(fromHost("example.com")), { manifestSources: [] }))[0],
    ).toContain("403");
  });

  test("T-33 changed manifests need a right of their own where that is asked for; what they hold is not known yet", async () => {
    const spec = { additionalManifests: [{ URL: "https://example.com/a.yaml" }] };
    const ruling = await review(written(spec), { may: mayNotApply, manifestRight: true });
    expect(linesOf(ruling)[0]).toMatch(/^403 spec\.additionalManifests: user "alice" may not/);
    expect(ruling.warnings).toContain(
      "spec.additionalManifests: what stands at the URLs is looked at when it is installed, not now; kubectl knfleet render -f FILE says which fields change nothing",
    );
    const kept = written({ ...spec, config: {} }, { before: spec });
    expect(linesOf(await review(kept, { may: mayNotApply, manifestRight: true }))).toEqual([]);
  });
});
