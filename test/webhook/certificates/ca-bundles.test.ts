import { describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { bundlePatch, isInjected, trusts } from "../../../webhook/certificates/ca-bundles.ts";
import { isBetter } from "../../../webhook/certificates/served-certificate.ts";

const service = { namespace: "knfleet-system", name: "knfleet-webhook" };
const base64 = (text: string) => Buffer.from(text).toString("base64");

function configuration(
  webhooks: unknown,
  annotations: Readonly<Record<string, string>> = {},
): KubeObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "knfleet-webhook", uid: "u", resourceVersion: "7", annotations },
    webhooks,
  };
}

const ours = (caBundle?: string) => ({
  name: "components.knfleet.dev",
  clientConfig: { service: { ...service, path: "/validate/components" }, caBundle },
});
const foreign = { name: "x", clientConfig: { service: { namespace: "a", name: "b" } } };

describe("a webhook configuration", () => {
  test("gets the bundle in each webhook that asks the Service, in the version that was seen", () => {
    expect(
      bundlePatch(configuration([foreign, ours(), ours(base64("old"))]), service, "new"),
    ).toEqual([
      { op: "test", path: "/metadata/resourceVersion", value: "7" },
      { op: "test", path: "/webhooks/1/name", value: "components.knfleet.dev" },
      { op: "add", path: "/webhooks/1/clientConfig/caBundle", value: base64("new") },
      { op: "test", path: "/webhooks/2/name", value: "components.knfleet.dev" },
      { op: "add", path: "/webhooks/2/clientConfig/caBundle", value: base64("new") },
    ]);
  });

  test.each([
    ["has it already", [ours(base64("new"))]],
    ["has no webhook of ours", [foreign, { name: "y", clientConfig: { url: "https://a" } }]],
    ["has no webhooks", undefined],
    ["has rubbish", [null, 5, { clientConfig: 1 }]],
  ])("that %s is left alone", (_name, webhooks) => {
    expect(bundlePatch(configuration(webhooks), service, "new")).toEqual([]);
  });

  test("trusts what each of its webhooks that ask the Service has in its bundle", () => {
    expect(trusts(configuration([ours(base64("A B")), foreign]), service, "B")).toBe(true);
    expect(trusts(configuration([ours(base64("A B")), ours()]), service, "B")).toBe(false);
  });

  test.each(["inject-ca-from", "inject-ca-from-secret", "inject-apiserver-ca"])(
    "with cert-manager.io/%s is somebody else's",
    (name) => {
      expect(isInjected(configuration([], { [`cert-manager.io/${name}`]: "a/b" }))).toBe(true);
      expect(isInjected(configuration([]))).toBe(false);
    },
  );
});

const signed = (name: string, authorityPem: string, notAfterMs = 100) => ({
  leaf: { certificatePem: name, keyPem: "", notBeforeMs: 0, notAfterMs },
  authorityPem,
});

describe("a new serving certificate", () => {
  const view = {
    served: signed("old", "A"),
    offered: signed("new", "B"),
    isTrusted: (authority: string) => authority === "A",
    trustedForMs: 0,
    nowMs: 50,
  };

  test.each([
    ["is the first", { served: undefined }, true],
    ["is the same", { offered: signed("old", "A") }, false],
    ["has the same authority", { offered: signed("new", "A") }, true],
    ["has an authority that nobody trusts yet", {}, false],
    ["has an authority that is trusted since a moment", { trustedForMs: 100 }, false],
    ["has an authority that is trusted for a while", { trustedForMs: 2_000 }, true],
    ["comes when the old one is trusted no more", { isTrusted: () => false }, true],
    ["comes when the old one has expired", { nowMs: 100 }, true],
  ])("that %s is served: %s", (_name, changes, wanted) => {
    expect(isBetter({ ...view, ...changes })).toBe(wanted);
  });
});
