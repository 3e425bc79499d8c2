import { describe, expect, test } from "vitest";

import type { JsonObject, Manifest } from "../../api/kubernetes.ts";
import { isHandedOver, withoutHandedOver } from "../../installation/hand-over.ts";
import { changeField } from "../../render/fields.ts";
import { manifestOf } from "../controller/apply/prepared.ts";
import { valueAt } from "../fleet/json-record.ts";

const manager = "knfleet-hub-a";
const webhook = manifestOf("admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration w", {
  webhooks: [
    { name: "a.b", namespaceSelector: { x: 1 }, objectSelector: { y: 1 }, sideEffects: "None" },
  ],
});
const adapter = manifestOf("apps/v1 Deployment knative/pingsource-mt-adapter", {
  spec: {
    replicas: 0,
    paused: false,
    template: {
      spec: {
        containers: [
          {
            name: "dispatcher",
            env: [
              { name: "K_SINK_TIMEOUT", value: "-1" },
              { name: "POD_NAME", value: "p" },
            ],
          },
        ],
      },
    },
  },
});

function owning(fieldsV1: JsonObject, by = manager): Manifest {
  const managedFields = [{ manager: by, operation: "Apply", fieldsType: "FieldsV1", fieldsV1 }];
  return manifestOf("v1 ConfigMap any/thing", { metadata: { name: "thing", managedFields } });
}

function environmentOwning(variable: JsonObject): JsonObject {
  const containers = {
    'k:{"name":"dispatcher"}': { "f:env": { 'k:{"name":"K_SINK_TIMEOUT"}': variable } },
  };
  return { "f:template": { "f:spec": { "f:containers": containers } } };
}

/** The adapter on a cluster with these variables, of which fields are ours. */
function running(names: readonly string[], fieldsV1: JsonObject): Manifest {
  const env = names.map((name) => ({ name, value: "theirs" }));
  const template = { spec: { containers: [{ name: "dispatcher", env }] } };
  return { ...owning({ "f:spec": fieldsV1 }), spec: { template } };
}

function variablesIn(manifest: Manifest): unknown {
  return valueAt(manifest, "spec", "template", "spec", "containers", 0, "env");
}

function withSelectors(...names: string[]): JsonObject {
  const fields = Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
  return { "f:webhooks": { 'k:{"name":"a.b"}': fields } };
}

test("only the PingSource adapter and webhook configurations have fields that are handed over", () => {
  const others = [
    manifestOf("apps/v1 Deployment knative/webhook"),
    manifestOf("v1 ConfigMap knative/a"),
  ];
  expect([webhook, adapter, ...others].map(isHandedOver)).toEqual([true, true, false, false]);
});

describe("what is sent of a webhook configuration", () => {
  test("leaves a selector to who has written it", () => {
    const ours = owning(withSelectors("objectSelector"));
    const theirs = owning(withSelectors("namespaceSelector", "objectSelector"), "webhook");
    const managedFields = [ours, theirs].flatMap(({ metadata }) => metadata.managedFields ?? []);
    const live = { ...ours, metadata: { ...ours.metadata, managedFields } };
    expect(withoutHandedOver(webhook, live, manager)["webhooks"]).toEqual([
      { name: "a.b", objectSelector: { y: 1 }, sideEffects: "None" },
    ]);
  });

  test("leaves all selectors when they are another's", () => {
    const live = owning(withSelectors("namespaceSelector", "objectSelector"), "manifestival");
    expect(withoutHandedOver(webhook, live, manager)["webhooks"]).toEqual([
      { name: "a.b", sideEffects: "None" },
    ]);
  });

  test("has a selector that is new in the manifest", () => {
    const live = owning(withSelectors("objectSelector"));
    expect(withoutHandedOver(webhook, live, manager)).toEqual(webhook);
  });
});

describe("what is sent of the PingSource adapter", () => {
  const names = ["K_SINK_TIMEOUT", "POD_NAME"];

  test("is everything while it is ours", () => {
    const fields = { "f:replicas": {}, ...environmentOwning({ "f:value": {} }) };
    expect(withoutHandedOver(adapter, running(names, fields), manager)).toEqual(adapter);
  });

  test("leaves scale and values to the controller, and keeps the names of variables", () => {
    const live = running(names, environmentOwning({ ".": {}, "f:name": {} }));
    const sent = withoutHandedOver(adapter, live, manager);
    expect(sent["spec"]).not.toHaveProperty("replicas");
    expect(variablesIn(sent)).toEqual([
      { name: "K_SINK_TIMEOUT" },
      { name: "POD_NAME", value: "p" },
    ]);
  });

  test("has no listed variable that the controller left out", () => {
    const live = running(["K_SINK_TIMEOUT"], environmentOwning({ ".": {}, "f:name": {} }));
    expect(variablesIn(withoutHandedOver(adapter, live, manager))).toEqual([
      { name: "K_SINK_TIMEOUT" },
    ]);
  });

  test("has a variable of somebody's own that the controller left out", () => {
    const own = { name: "HTTP_PROXY", value: "http://proxy" };
    const changed = changeField(
      adapter,
      ["spec", "template", "spec", "containers", "*"],
      (container) => ({
        ...Object(container),
        env: [{ name: "K_SINK_TIMEOUT", value: "-1" }, own],
      }),
    );
    const live = running(["K_SINK_TIMEOUT"], environmentOwning({ ".": {}, "f:name": {} }));
    expect(variablesIn(withoutHandedOver(changed, live, manager))).toEqual([
      { name: "K_SINK_TIMEOUT" },
      own,
    ]);
  });

  test("has a listed variable that is gone while all values are ours", () => {
    const fields = environmentOwning({ "f:value": {} });
    const live = running(["K_SINK_TIMEOUT"], fields);
    expect(variablesIn(withoutHandedOver(adapter, live, manager))).toEqual(variablesIn(adapter));
  });
});
