import * as fc from "fast-check";
import { expect, test } from "vitest";

import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { resourceFinder } from "../../api/resources.ts";
import type { Transform } from "../../render/fields.ts";
import { withOwners } from "../../render/namespace.ts";
import { transformOf } from "../../render/transforms.ts";
import { deepFrozen } from "../../render/yaml.ts";
import { runsOf } from "../support/fuzz.ts";
import { eventing, serving } from "./components.ts";

const kinds = [
  ["v1", "Namespace"],
  ["v1", "Service"],
  ["v1", "ConfigMap"],
  ["apps/v1", "Deployment"],
  ["batch/v1", "Job"],
  ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding"],
  ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"],
  ["apiregistration.k8s.io/v1", "APIService"],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
] as const;
const names = [
  "kourier",
  "kourier-bootstrap",
  "config-network",
  "config-features",
  "net-kourier-controller",
  "3scale-kourier-gateway",
  "knative-local-gateway",
  "__proto__",
  "constructor",
  "x",
];
const fields = ["spec", "data", "subjects", "webhooks", "template", "containers", "env", "volumes"];
const deeper = ["ports", "configMap", "clientConfig", "service", "conversion", "webhook", "labels"];

/** Objects with the right field names and anything in them, which is what breaks code that trusts its input. */
const content = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(null, 0, "", "text", true, "kourier-bootstrap"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(...fields, ...deeper, "metadata", "name", "namespace"),
      tie("value"),
    ),
  ),
})).value;

const manifests: fc.Arbitrary<Manifest> = fc
  .tuple(
    fc.constantFrom(...kinds),
    fc.constantFrom(...names),
    fc.dictionary(fc.constantFrom(...fields), content),
  )
  .map(([[apiVersion, kind], name, rest]) => ({ ...rest, apiVersion, kind, metadata: { name } }));

const components: readonly Component[] = [
  serving({
    namespace: { labels: { a: "b" }, annotations: { c: "d" } },
    config: { network: { a: "b" }, istio: { "local-gateways": "- 1\n- {name: x}" } },
    security: { securityGuard: { enabled: true } },
    ingress: {
      istio: { enabled: true, "knative-local-gateway": { selector: { a: "b" } } },
      kourier: {
        enabled: true,
        "service-type": "NodePort",
        "http-port": 1,
        "bootstrap-configmap": "x",
      },
    },
  }),
  eventing({ namespaceConfiguration: { labels: { a: "b" } }, config: { features: { a: "b" } } }),
];

const owner = withOwners({ apiVersion: "v1", kind: "ConfigMap", name: "root", uid: "u" }, "x");

function isRightAfter(transform: Transform, manifest: Manifest): boolean {
  try {
    const after = owner(transform(deepFrozen(manifest)));
    return after.metadata.labels?.["app.kubernetes.io/name"]?.startsWith("knative-") === true;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const named = error.message.includes(manifest.kind) || error.message.startsWith("spec.");
    return named && error.reason === "ManifestInvalid";
  }
}

test("whatever an object holds, the transforms change a copy or say which object is invalid", () => {
  const transforms = components.map((component) =>
    transformOf(component, { version: "1.23.0", resourceOf: resourceFinder([]), environment: {} }),
  );
  const property = fc.property(manifests, fc.constantFrom(...transforms), (manifest, transform) => {
    const before = JSON.stringify(manifest);
    return isRightAfter(transform, manifest) && JSON.stringify(manifest) === before;
  });
  expect(fc.check(property, { numRuns: runsOf(12_000) })).toMatchObject({ failed: false });
});
