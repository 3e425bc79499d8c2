import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { istioGateways } from "../../../render/features/istio.ts";

const spec = { selector: { istio: "ingressgateway" }, servers: [{ hosts: ["*"] }] };

function gateway(name: string, apiVersion = "networking.istio.io/v1beta1"): Manifest {
  return { apiVersion, kind: "Gateway", metadata: { name }, spec };
}

const selector = { istio: "mine" };

describe("Istio's Gateways", () => {
  test.each([
    { name: "knative-ingress-gateway", option: "knative-ingress-gateway" },
    { name: "knative-local-gateway", option: "knative-local-gateway" },
    { name: "cluster-local-gateway", option: "knative-local-gateway" },
  ])("$name follows $option", ({ name, option }) => {
    const versions = ["v1alpha3", "v1beta1", "v1"].map(
      (version) => `networking.istio.io/${version}`,
    );
    for (const version of versions) {
      const transform = istioGateways({ [option]: { selector } });
      expect(transform(gateway(name, version))).toEqual({
        ...gateway(name, version),
        spec: { ...spec, selector },
      });
    }
  });

  test.each([
    gateway("mine"),
    gateway("knative-local-gateway"),
    gateway("knative-ingress-gateway", "gateway.networking.k8s.io/v1"),
    { ...gateway("knative-ingress-gateway"), kind: "VirtualService" },
  ])("$apiVersion $kind $metadata.name is left alone", (manifest) => {
    const options = { "knative-ingress-gateway": { selector } };
    expect(istioGateways(options)(manifest)).toBe(manifest);
  });

  test("get servers in the words of Istio's API, without what is empty", () => {
    const servers = [
      {
        name: "https",
        bind: "",
        hosts: ["*.example.com"],
        port: { number: 443, name: "https", protocol: "HTTPS", target_port: 8443 },
        tls: {
          mode: "SIMPLE",
          credentialName: "wildcard",
          httpsRedirect: false,
          minProtocolVersion: 3,
          maxProtocolVersion: 4,
          cipherSuites: ["A"],
          subjectAltNames: [],
        },
        defaultEndpoint: "unix:///a",
      },
      { tls: { mode: "PASSTHROUGH", minProtocolVersion: 0 }, port: {} },
    ] as const;
    const transform = istioGateways({ "knative-ingress-gateway": { selector: {}, servers } });
    expect(transform(gateway("knative-ingress-gateway"))["spec"]).toEqual({
      selector: spec.selector,
      servers: [
        {
          name: "https",
          hosts: ["*.example.com"],
          port: { number: 443, name: "https", protocol: "HTTPS", targetPort: 8443 },
          tls: {
            mode: "SIMPLE",
            credentialName: "wildcard",
            minProtocolVersion: "TLSV1_2",
            maxProtocolVersion: "TLSV1_3",
            cipherSuites: ["A"],
          },
          defaultEndpoint: "unix:///a",
        },
        { tls: {}, port: {} },
      ],
    });
  });

  test("have no TLS version that nobody knows", () => {
    const servers = [{}, { tls: { minProtocolVersion: 9 } }];
    expect(() => istioGateways({ "knative-local-gateway": { servers } })).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message:
          "spec.ingress.istio.knative-local-gateway.servers[1].tls.minProtocolVersion: unknown value 9",
      }),
    );
  });
});
