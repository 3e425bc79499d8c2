import { expect, test } from "vitest";

import { objectId } from "../../api/keys.ts";
import { keyOf } from "../../api/kubernetes.ts";
import { gateObjects } from "../../installation/gates.ts";
import { definitionOf, manifestOf, preparedOf } from "../controller/apply/prepared.ts";

const webhook = manifestOf("admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration w");
const used = definitionOf("Used");
const unused = definitionOf("Unused");
const custom = manifestOf("test.dev/v1 Used knative/one");
const foreign = manifestOf("cert-manager.io/v1 Certificate knative/cert");
const deployment = manifestOf("apps/v1 Deployment knative/d");
const service = manifestOf("v1 Service knative/s");
const config = manifestOf("v1 ConfigMap knative/c");

const order = gateObjects(
  preparedOf([webhook, custom, deployment, unused, foreign, config, used, service]),
);

test("objects go in the order of their ranks, and else in that of the release", () => {
  expect(order.map(({ object }) => object.key.name)).toEqual([
    "useds.test.dev",
    "s",
    "unuseds.test.dev",
    "cert",
    "c",
    "d",
    "one",
    "w",
  ]);
});

test("a custom resource waits for its definition, and nothing else waits", () => {
  const gates = order.flatMap(({ object, after }) =>
    after.length > 0 ? [[object.key.name, after]] : [],
  );
  expect(gates).toEqual([["one", [objectId(keyOf(used))]]]);
});

test("only a kind whose definition is sent too may not be served yet", () => {
  expect(
    order.filter(({ isOfNewKind }) => isOfNewKind).map(({ object }) => object.key.name),
  ).toEqual(["one"]);
  expect(
    gateObjects(preparedOf([custom])).map(({ isOfNewKind, after }) => [isOfNewKind, after]),
  ).toEqual([[false, []]]);
});
