import { beforeAll, expect, test, vi } from "vitest";

import { fleetSetKinds } from "../../api/fleet-set.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { crdOf } from "../../api/schema/component-crd.ts";
import { fleetSetCrdOf } from "../../api/schema/fleet-set-crd.ts";
import { valueAt } from "../fleet/json-record.ts";
import { listAt, objectIn } from "./rendered.ts";
import { useHelm } from "./use-helm.ts";

vi.setConfig({ testTimeout: 120_000 });

const kind = "CustomResourceDefinition";
const helm = useHelm();
let usual: readonly Manifest[];
let withSets: readonly Manifest[];

beforeAll(async () => {
  usual = await helm().objects({});
  withSets = await helm().objects({ values: { sets: { enabled: true } } });
}, 600_000);

function groupsOf(objects: readonly Manifest[]): readonly string[] {
  return objects
    .filter((one) => one.kind === kind)
    .map(({ metadata }) => (metadata.name ?? "").replace(/^[^.]+\./, ""));
}

test("the CRDs are those of api/schema, and stay when the chart goes", () => {
  const crds = [
    crdOf("KnativeServing"),
    crdOf("KnativeEventing"),
    fleetSetCrdOf("KnativeServingSet"),
    fleetSetCrdOf("KnativeEventingSet"),
  ];
  for (const crd of crds) {
    const { metadata, spec } = JSON.parse(JSON.stringify(crd));
    const found = objectIn(withSets, kind, metadata.name);
    expect(found["spec"]).toEqual(spec);
    expect(found.metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
  }
});

test("there are sets only where they are asked for", () => {
  expect(groupsOf(usual)).toEqual(["operator.knative.dev", "operator.knative.dev"]);
  expect(groupsOf(withSets)).toHaveLength(4);
});

test("no webhook has a namespaceSelector that nobody asked for", async () => {
  const values = { sets: { enabled: true }, webhook: { providerFile: "file" } };
  const found = await helm().objects({ values });
  const configuration = objectIn(found, "ValidatingWebhookConfiguration", "knfleet-webhook");
  const webhooks = listAt(configuration, "webhooks");
  expect(webhooks.map((one) => valueAt(one, "namespaceSelector"))).toEqual(
    webhooks.map(() => undefined),
  );
  expect(webhooks.map((one) => valueAt(one, "name"))).toContain("named-provider-file.knfleet.dev");
});

test("sets.enabled=true: the webhook is asked about every kind of set, in the namespaces of components", async () => {
  const selector = { matchLabels: { team: "a" } };
  const values = { sets: { enabled: true }, webhook: { namespaceSelector: selector } };
  const configuration = objectIn(
    await helm().objects({ values }),
    "ValidatingWebhookConfiguration",
    "knfleet-webhook",
  );
  const webhook = listAt(configuration, "webhooks").find(
    (one) => valueAt(one, "name") === "sets.knfleet.dev",
  );
  expect(valueAt(webhook, "namespaceSelector")).toEqual(selector);
  expect(valueAt(webhook, "rules")).toEqual([
    {
      apiGroups: ["knfleet.dev"],
      apiVersions: ["v1alpha1"],
      operations: ["CREATE", "UPDATE"],
      resources: Object.values(fleetSetKinds).map(({ plural }) => plural),
      scope: "Namespaced",
    },
  ]);
});
