import { describe, expect, test } from "vitest";

import type { KnativeServing } from "../../../api/component.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { ingressClass } from "../../../render/features/serving.ts";

const on = { enabled: true };

function map(data: Record<string, string> | undefined, name = "config-network"): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

describe("the ingress that Serving uses", () => {
  test.each(["kourier", "contour", "gateway-api"])("is %s where that is the only one", (name) => {
    const transform = ingressClass({ ingress: { [name]: on, istio: { enabled: false } } });
    expect(transform(map({ _example: "a" }))["data"]).toEqual({
      _example: "a",
      "ingress-class": `${name}.ingress.networking.knative.dev`,
    });
    expect(transform(map(undefined))["data"]).toEqual({
      "ingress-class": `${name}.ingress.networking.knative.dev`,
    });
  });

  test.each<{ spec: KnativeServing["spec"] }>([
    { spec: undefined },
    { spec: {} },
    { spec: { ingress: {} } },
    { spec: { ingress: { istio: on } } },
    { spec: { ingress: { kourier: on, istio: on } } },
    { spec: { ingress: { kourier: on, contour: on } } },
  ])("is left open by $spec", ({ spec }) => {
    const manifest = map({ _example: "a" });
    expect(ingressClass(spec)(manifest)).toBe(manifest);
  });

  test.each(["ingress-class", "ingress.class"])("is what %s names", (key) => {
    const manifest = map({ [key]: "mine" });
    expect(ingressClass({ ingress: { kourier: on } })(manifest)).toBe(manifest);
  });

  test("does not concern other objects", () => {
    const other = map({}, "config-gc");
    expect(ingressClass({ ingress: { kourier: on } })(other)).toBe(other);
  });
});
