import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { kourier } from "../../../render/features/kourier.ts";

const service: Manifest = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "kourier" },
  spec: {
    type: "LoadBalancer",
    ports: [
      { name: "http2", port: 80 },
      { name: "https", port: 443 },
    ],
  },
};

function deployment(name: string, pod: object): Manifest {
  const spec = { template: { spec: pod } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name }, spec };
}

const pod = (value: string) => ({
  containers: [
    {
      name: "a",
      env: [
        { name: "KOURIER_GATEWAY_NAMESPACE", value },
        { name: "X", value: "y" },
      ],
    },
    { name: "b" },
  ],
});

describe("Kourier", () => {
  test("finds its gateway in the component's namespace", () => {
    expect(
      kourier({}, "here")(deployment("net-kourier-controller", pod("kourier-system"))),
    ).toEqual(deployment("net-kourier-controller", pod("here")));
  });

  test("finds its controller in the component's namespace", () => {
    const bootstrap: Manifest = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "kourier-bootstrap" },
      data: {
        "envoy-bootstrap.yaml": "a.knative-serving b.knative-serving",
        other: "knative-serving",
      },
    };
    expect(kourier({}, "$&")(bootstrap)["data"]).toEqual({
      "envoy-bootstrap.yaml": "a.$& b.$&",
      other: "knative-serving",
    });
  });

  test("takes its bootstrap from another ConfigMap", () => {
    const gateway = deployment("3scale-kourier-gateway", {
      volumes: [
        { name: "config", configMap: { name: "kourier-bootstrap", defaultMode: 420 } },
        { name: "other", configMap: { name: "other" } },
      ],
    });
    expect(kourier({ "bootstrap-configmap": "mine" }, "here")(gateway)).toMatchObject({
      spec: {
        template: {
          spec: {
            volumes: [
              { name: "config", configMap: { name: "mine" } },
              { name: "other", configMap: { name: "other" } },
            ],
          },
        },
      },
    });
    expect(kourier({}, "here")(gateway)).toBe(gateway);
  });

  test("cannot change the bootstrap of a gateway with other volumes", () => {
    const gateway = deployment("3scale-kourier-gateway", {
      volumes: [{ name: "a", emptyDir: {} }],
    });
    expect(kourier({}, "here")(gateway)).toBe(gateway);
    expect(() => kourier({ "bootstrap-configmap": "mine" }, "here")(gateway)).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message: expect.stringContaining("bootstrap-configmap"),
      }),
    );
  });

  test.each([
    { options: {}, spec: { type: "LoadBalancer" } },
    { options: { "service-type": "ClusterIP" }, spec: { type: "ClusterIP" } },
    { options: { "service-load-balancer-ip": "192.0.2.1" }, spec: { loadBalancerIP: "192.0.2.1" } },
    {
      options: { "service-type": "NodePort", "http-port": 31080 },
      spec: {
        ports: [
          { name: "http2", port: 80, nodePort: 31080 },
          { name: "https", port: 443 },
        ],
      },
    },
    {
      options: { "service-type": "NodePort", "https-port": 31443 },
      spec: {
        ports: [
          { name: "http2", port: 80 },
          { name: "https", port: 443, nodePort: 31443 },
        ],
      },
    },
  ])("gives its Service $options", ({ options, spec }) => {
    expect(kourier(options, "here")(service)["spec"]).toMatchObject(spec);
  });

  test.each([
    {
      options: { "service-type": "ExternalName" },
      text: 'unsupported service type "ExternalName"',
    },
    { options: { "service-type": "nodeport" }, text: 'unknown service type "nodeport"' },
    {
      options: { "service-type": "ClusterIP", "service-load-balancer-ip": "192.0.2.1" },
      text: 'cannot configure LoadBalancerIP for service type "ClusterIP"',
    },
    { options: { "http-port": 31080 }, text: 'cannot configure HTTPPort for service type "Load' },
    { options: { "https-port": 31443 }, text: 'cannot configure HTTPSPort for service type "Load' },
  ])("refuses $options", ({ options, text }) => {
    expect(() => kourier(options, "here")(service)).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message: expect.stringContaining(`spec.ingress.kourier: ${text}`),
      }),
    );
  });

  test("leaves everything else alone", () => {
    const other = { ...service, metadata: { name: "kourier-internal" } };
    expect(kourier({ "service-type": "NodePort" }, "here")(other)).toBe(other);
  });
});
