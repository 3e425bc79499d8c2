import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { services } from "../../../render/features/named-objects.ts";

const service = (metadata: object, spec: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "controller", ...metadata },
  spec,
});

describe("service overrides", () => {
  test("set labels, annotations and selector entries, one after the other", () => {
    expect(
      services([
        { name: "controller", labels: { a: "1", b: "1" }, selector: { app: "f", more: "1" } },
        { name: "controller", labels: { b: "2" }, annotations: { c: "3" } },
        { name: "other", labels: { d: "4" } },
      ])(service({ labels: { a: "0" } }, { selector: { app: "controller", role: "x" } })),
    ).toEqual(
      service(
        { labels: { a: "1", b: "2" }, annotations: { c: "3" } },
        { selector: { app: "f", role: "x", more: "1" } },
      ),
    );
  });

  test.each([
    { apiVersion: "serving.knative.dev/v1", kind: "Service" },
    { apiVersion: "v1", kind: "ConfigMap" },
  ])("leave $apiVersion $kind alone", (type) => {
    const manifest = { ...service({}), ...type };
    expect(services([{ name: "controller", labels: { a: "b" } }])(manifest)).toBe(manifest);
  });

  test("without content change nothing", () => {
    const manifest = service({});
    expect(services([{ name: "controller", labels: {}, selector: {} }])(manifest)).toBe(manifest);
    expect(services()(manifest)).toBe(manifest);
  });
});
