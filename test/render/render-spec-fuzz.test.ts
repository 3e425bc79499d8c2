import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";

import { type Component, componentKinds } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { resourceFinder } from "../../api/resources.ts";
import { eventingSpec, servingSpec } from "../../api/schema/component-spec.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { transformOf } from "../../render/transforms.ts";
import { runsOf } from "../support/fuzz.ts";
import { eventing, serving } from "./components.ts";
import { malformed } from "./malformed.ts";
import { valuesOf } from "./schema-values.ts";

const kinds = [
  { kind: "KnativeServing", schema: servingSpec, make: serving, part: "knative-serving/1.23.0" },
  {
    kind: "KnativeEventing",
    schema: eventingSpec,
    make: eventing,
    part: "knative-eventing/1.23.0",
  },
] as const;

const words = [
  "controller",
  "webhook",
  "activator",
  "activator-pdb",
  "controller/controller",
  "eventing-controller",
  "mt-broker-ingress",
  "dispatcher",
  "request-reply",
  "storage-version-migration-serving-",
  "cleanup",
  "config-network",
  "br-defaults",
  "default-br-config",
  "METRICS_DOMAIN",
  "registry.example.com/${NAME}:v1",
  "ConfigMap",
  "NodePort",
  "__proto__",
  "constructor",
  "",
];

const samples = new Map<string, readonly Manifest[]>();

beforeAll(async () => {
  const releases = await openReleases(sampleDirOf());
  for (const { kind, part } of kinds) {
    const all = await releases.load(part);
    samples.set(
      kind,
      all.filter((manifest) => manifest.kind !== "CustomResourceDefinition"),
    );
  }
});

const environment = { KUBERNETES_MIN_VERSION: "v1.30.0" };

/** Whether a manifest comes out changed or refused, and nothing that went in has been altered. */
function isHandled(component: Component, manifests: readonly Manifest[]): boolean {
  const before = JSON.stringify([component, manifests]);
  try {
    const resourceOf = resourceFinder(manifests);
    const transform = transformOf(component, { version: "1.23.0", resourceOf, environment });
    const { label } = componentKinds[component.kind];
    for (const manifest of manifests) {
      const { labels } = transform(manifest).metadata;
      if (labels?.["app.kubernetes.io/name"] !== label) return false;
    }
  } catch (error) {
    if (!(error instanceof FleetError) || error.reason !== "ManifestInvalid") throw error;
    if (error.message === "") return false;
  }
  return JSON.stringify([component, manifests]) === before;
}

describe.each(kinds)("$kind", ({ kind, schema, make }) => {
  const specs = valuesOf(schema, words);

  test("takes every spec that the schema admits, or says what is wrong with it", () => {
    const property = fc.property(specs, (spec) =>
      isHandled(make(Object(spec)), samples.get(kind) ?? []),
    );
    expect(fc.check(property, { numRuns: runsOf(600) })).toMatchObject({ failed: false });
  }, 300_000);

  test("takes objects with junk in any place, or says which is wrong", () => {
    const workloads = (samples.get(kind) ?? []).filter(({ apiVersion }) => apiVersion !== "v1");
    const property = fc.property(specs, malformed(workloads), (spec, manifest) =>
      isHandled(make(Object(spec)), [manifest]),
    );
    expect(fc.check(property, { numRuns: runsOf(12_000) })).toMatchObject({ failed: false });
  }, 300_000);
});
