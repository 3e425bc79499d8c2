import { describe, expect, test } from "vitest";

import type { Component } from "../../api/component.ts";
import { ingressesOf, partsOf, pathsOf } from "../../render/parts.ts";
import { eventing, serving } from "./components.ts";

const on = { enabled: true };
const off = { enabled: false };
const guard = { security: { securityGuard: on } };

describe("the parts of", () => {
  test.each<{ name: string; component: Component; paths: readonly string[] }>([
    {
      name: "Serving without an ingress field",
      component: serving(),
      paths: ["knative-serving/1.23.0", "ingress/1.23/istio"],
    },
    {
      name: "Serving with an empty ingress field",
      component: serving({ ingress: {} }),
      paths: ["knative-serving/1.23.0"],
    },
    {
      name: "Serving with ingresses that are off or say nothing",
      component: serving({ ingress: { istio: off, kourier: {} } }),
      paths: ["knative-serving/1.23.0"],
    },
    {
      name: "Serving with every ingress",
      component: serving({
        ingress: { "gateway-api": on, contour: on, kourier: on, istio: on },
      }),
      paths: [
        "knative-serving/1.23.0",
        "ingress/1.23/istio,ingress/1.23/contour,ingress/1.23/kourier,ingress/1.23/gateway-api",
      ],
    },
    {
      name: "Serving with the guard",
      component: serving({ ...guard, ingress: {} }),
      paths: ["knative-serving/1.23.0", "security-guard/0.6"],
    },
    { name: "Eventing", component: eventing(), paths: ["knative-eventing/1.23.0"] },
    {
      name: "Eventing with sources",
      component: eventing({ source: { redis: on, ceph: on, kafka: off, github: {} } }),
      paths: ["knative-eventing/1.23.0", "eventing-source/1.23/ceph,eventing-source/1.23/redis"],
    },
  ])("$name are $paths", ({ component, paths }) => {
    expect(pathsOf(partsOf(component, "1.23.0", "1.23.0"))).toEqual(paths);
  });

  test("the version latest are folders of that name, with the newest version's guard", () => {
    const component = serving({ ...guard, ingress: { kourier: on } });
    expect(pathsOf(partsOf(component, "latest", "1.22.1"))).toEqual([
      "knative-serving/latest",
      "ingress/latest/kourier",
      "security-guard/0.6",
    ]);
  });

  test("a version without a guard cannot be found when the guard is on", () => {
    expect(() => partsOf(serving(guard), "1.7.0", "1.23.0")).toThrow(
      expect.objectContaining({ reason: "ReleasePartNotFound" }),
    );
  });
});

test("transforms of ingresses run in another order than their parts are read", () => {
  const ingress = { "gateway-api": on, contour: on, kourier: on, istio: on };
  expect(ingressesOf({ ingress })).toEqual(["istio", "kourier", "contour", "gateway-api"]);
});
