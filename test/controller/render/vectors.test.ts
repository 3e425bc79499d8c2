import { describe, expect, test } from "vitest";

import { componentCheck } from "../../../cmd/kubectl/render/component-schema.ts";
import { mirrorOf } from "../../../cmd/release-files.ts";
import { openReleases } from "../../../controller/render/release.ts";
import { differencesOf } from "../../vectors/compare-render.ts";
import { type CaseOutcome, runCase } from "../../vectors/render-case.ts";
import { type RenderCase, renderVectors } from "../../vectors/render-cases.ts";
import { verdictOf } from "../../vectors/render-report.ts";

/** Fields whose transforms exist; a vector with another one is not compared yet. */
const implemented = new Set([
  "version",
  "config",
  "namespace",
  "ingress",
  "source",
  "security",
  "clusterProfileRef",
  "high-availability",
  "registry",
  "resources",
  "deployments",
  "workloads",
  "services",
  "podDisruptionBudgets",
  "controller-custom-certs",
]);

/** Parts of implemented fields that have no transform yet. */
const pending = new Set([
  "serving-ingress-istio-gateway-overrides",
  "eventing-default-broker-user-config-with-class",
  "eventing-default-broker-class-and-namespaced-class",
  "eventing-error-default-broker-bad-yaml",
  "eventing-error-default-broker-empty",
]);

const check = componentCheck();
const vectors = await renderVectors();
const mirror = await mirrorOf(process.env);
const releases =
  vectors === undefined || mirror === undefined ? undefined : await openReleases(mirror);

function isImplemented({ name }: RenderCase, { component }: CaseOutcome): boolean {
  const fields = Object.keys(component.spec ?? {});
  return !pending.has(name) && fields.every((field) => implemented.has(field));
}

/** What differs on purpose is in test/vectors/differences.ts; `npm run vectors` shows it. */
describe("what upstream was seen to do", () => {
  test("is compared where the shared folder is there", () => {
    expect(vectors?.cases.length ?? 132).toBeGreaterThanOrEqual(132);
    expect(releases === undefined).toBe(vectors === undefined);
  });

  test.each(vectors?.cases ?? [])("$name is equal, or different on purpose", async (one) => {
    if (vectors === undefined || releases === undefined) throw new Error("No releases");
    const outcome = await runCase(one, { releases, check });
    const { kind, details } = verdictOf(one.name, differencesOf(one, outcome, vectors.normalize));
    expect(isImplemented(one, outcome) ? { kind, details } : {}).not.toMatchObject({
      kind: "wrong",
    });
  });
});
