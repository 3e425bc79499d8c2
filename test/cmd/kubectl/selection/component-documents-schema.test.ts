import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";

import { type ComponentKind, operatorApiVersion } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { isRecord } from "../../../../api/fields.ts";
import { eventingSpec, servingSpec } from "../../../../api/schema/component-spec.ts";
import {
  componentDocuments,
  componentCheck,
} from "../../../../cmd/kubectl/selection/component-documents.ts";
import { InputError } from "../../../../cmd/kubectl/selection/yaml-documents.ts";
import { openReleases } from "../../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../../cmd/release-files.ts";
import type { Releases } from "../../../../render/release/releases.ts";
import { render } from "../../../../render/render.ts";
import { runsOf } from "../../../support/fuzz.ts";
import { valuesOf } from "./schema-values.ts";

const check = componentCheck();
const metadata = { name: "knative", namespace: "knative" };

function problemsOf(spec: unknown, kind: ComponentKind = "KnativeServing"): readonly string[] {
  return check(kind)({ apiVersion: operatorApiVersion, kind, metadata, spec });
}

describe("the check of a component", () => {
  test.each([
    {
      name: "a wrong type",
      spec: { ingress: { kourier: { "http-port": "80" } } },
      says: ["spec.ingress.kourier.http-port: must be integer"],
    },
    { name: "an unknown field", spec: { replicas: 1 }, says: ["spec.replicas: unknown field"] },
    {
      name: "a field of the other kind",
      spec: { source: {} },
      says: ["spec.source: unknown field"],
    },
    {
      name: "a missing field",
      spec: { workloads: [{ replicas: 1 }] },
      says: ["spec.workloads[0].name: is required"],
    },
    {
      name: "a number or text",
      spec: { podDisruptionBudgets: [{ name: "x", minAvailable: [] }] },
      says: ["spec.podDisruptionBudgets[0].minAvailable: must be integer or string"],
    },
    {
      name: "no quantity",
      spec: { resources: [{ container: "x", limits: { cpu: "much" } }] },
      says: ["spec.resources[0].limits.cpu: must be a quantity such as 250m or 1Gi"],
    },
    {
      name: "a number that is too large",
      spec: { "high-availability": { replicas: 2 ** 31 } },
      says: ['spec["high-availability"].replicas: must fit into int32'],
    },
    {
      name: "an empty name",
      spec: { clusterProfileRef: { name: "", namespace: "a" } },
      says: ["spec.clusterProfileRef.name: must not be empty"],
    },
    {
      name: "odd keys",
      spec: { config: { "a.b/c": { d: 1 } } },
      says: ['spec.config["a.b/c"].d: must be string'],
    },
    {
      name: "several",
      spec: { version: 1.23, config: [] },
      says: ["spec.config: must be object", "spec.version: must be string"],
    },
    { name: "nothing", spec: null, says: ["spec: must be object"] },
  ])("names the place of $name", ({ spec, says }) => {
    expect(problemsOf(spec).toSorted()).toEqual(
      says.map((text) => text.replace('["high-availability"]', ".high-availability")),
    );
  });

  test("fills in defaults as an API server does", () => {
    const component = {
      apiVersion: operatorApiVersion,
      kind: "KnativeServing",
      metadata,
      spec: { registry: { imagePullSecrets: [{}] } },
    };
    expect(check("KnativeServing")(component)).toEqual([]);
    expect(component.spec.registry.imagePullSecrets).toEqual([{ name: "" }]);
  });
});

const kinds = [
  { kind: "KnativeServing", schema: servingSpec },
  { kind: "KnativeEventing", schema: eventingSpec },
] as const;

describe.each(kinds)("a spec of $kind", ({ kind, schema }) => {
  let releases: Releases;
  beforeAll(async () => {
    releases = await openReleases(sampleDirOf());
  });

  test("that its schema makes is accepted", () => {
    const property = fc.property(valuesOf(schema, false), (spec) => {
      expect(problemsOf(spec, kind)).toEqual([]);
    });
    const result = fc.check(property, { numRuns: runsOf(1_200) });
    expect(fc.defaultReportMessage(result)).toBeUndefined();
  });

  test("is rendered or refused with a reason, however malformed it is", async () => {
    const right = valuesOf(schema, false);
    const fitting = kind === "KnativeServing" ? right.map(installable) : right;
    const specs = fc.oneof(fitting, fitting, right, valuesOf(schema, true), fc.anything());
    const property = fc.asyncProperty(specs, (spec) => isAnswered({ kind, spec }, releases));
    const result = await fc.check(property, { numRuns: runsOf(1_600) });
    expect(fc.defaultReportMessage(result)).toBeUndefined();
  });
});

/** Without the fields that refuse nearly every random value, and with what the sample release has, so that the rest is rendered. */
function installable(spec: unknown): unknown {
  if (!isRecord(spec)) return spec;
  const refused = ["version", "manifests", "additionalManifests", "source"];
  const rest = Object.entries(spec).filter(([name]) => !refused.includes(name));
  const { ingress } = spec;
  const kourier = isRecord(ingress) && isRecord(ingress["kourier"]) ? ingress["kourier"] : {};
  return { ...Object.fromEntries(rest), ingress: { kourier: { ...kourier, enabled: true } } };
}

/** Whether a component ends in objects, in an error for the user, or in problems of its fields; anything else is thrown. */
async function isAnswered(
  { kind, spec }: { readonly kind: ComponentKind; readonly spec: unknown },
  releases: Releases,
): Promise<boolean> {
  const value: unknown = { apiVersion: operatorApiVersion, kind, metadata, spec };
  try {
    const found = componentDocuments([{ where: "file", value }], { namespace: undefined, check });
    const [document] = found.components;
    if (document === undefined) return false;
    const { manifests } = await render(document.component, releases, {
      manifestText: (url) => Promise.resolve(url),
    });
    return manifests.length > 0;
  } catch (error) {
    if (error instanceof InputError)
      return error.problems.every((text) => text.startsWith("file: "));
    if (error instanceof FleetError) return error.message !== "";
    throw error;
  }
}
