import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { gatewayServices } from "../../../render/features/istio.ts";
import type { Config } from "../../../render/features/named-objects.ts";

const service = (name: string): Manifest => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "here" },
  spec: { selector: { istio: "ingressgateway" } },
});

describe("gateway Services", () => {
  const legacy = "local-gateway.here.knative-local-gateway";

  test.each<{ config: Config; place: string }>([
    { config: {}, place: "istio-system" },
    { config: { istio: { [legacy]: "gateway.old.svc" } }, place: "old" },
    {
      config: {
        "config-istio": { [legacy]: "gateway.full.svc" },
        istio: { [legacy]: "x.short.y" },
      },
      place: "full",
    },
    {
      config: {
        istio: {
          [legacy]: "gateway.old.svc",
          "local-gateways":
            "- {name: other, namespace: x}\n- {name: knative-local-gateway, namespace: new}",
        },
      },
      place: "new",
    },
    {
      config: {
        istio: {
          "local-gateways":
            "- name: knative-local-gateway\n  namespace: knative-serving\n  service: knative-local-gateway.mesh.svc.cluster.local",
        },
      },
      place: "mesh",
    },
    { config: { istio: { "local-gateways": "[]" } }, place: "istio-system" },
    {
      config: { istio: { "local-gateways": "- [broken", [legacy]: "nodots" } },
      place: "istio-system",
    },
  ])("with $config are in $place", ({ config, place }) => {
    const set = gatewayServices({ config, istio: undefined, namespace: "here" });
    expect(set(service("knative-local-gateway")).metadata.namespace).toBe(place);
  });

  test("take the selectors of the gateways; other Services do not", () => {
    const istio = {
      "knative-ingress-gateway": { selector: { a: "b" } },
      "knative-local-gateway": { selector: { c: "d" } },
    };
    const set = gatewayServices({ config: {}, istio, namespace: "here" });
    expect(set(service("knative-ingress-gateway"))).toMatchObject({
      metadata: { namespace: "here" },
      spec: { selector: { a: "b" } },
    });
    expect(set(service("knative-local-gateway"))["spec"]).toEqual({ selector: { c: "d" } });
    expect(set(service("other"))).toEqual(service("other"));
  });
});
