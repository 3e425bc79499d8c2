import { resolve } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { openReleases } from "../../../../cmd/open-releases.ts";
import type { Releases } from "../../../../render/release/releases.ts";
import { componentProblems } from "../../../../webhook/rules/rendered/component-problems.ts";
import { linesOf, review, type Stage, written } from "../../component-stage.ts";

const sample = resolve(import.meta.dirname, "../../../fixtures/release");
const kourier = { ingress: { kourier: { enabled: true } } };
const deployment = { apiVersion: "apps/v1", kind: "Deployment", name: "webhook" };
let releases: Releases;

beforeAll(async () => {
  releases = await openReleases(sample);
});

const stage = (): Stage => ({
  renderCheck: componentProblems({ releases, environment: {}, spokeNamespace: "Canonical" }),
});

function patch(type: string, content: string, target: object = {}): object {
  return { target: { ...deployment, ...target }, patch: { type, content } };
}

async function linesFor(patches: readonly object[], spec: object = {}): Promise<readonly string[]> {
  return linesOf(await review(written({ ...kourier, ...spec, patches }), stage()));
}

describe("the rule patches", () => {
  test.each([
    patch("strategic", "spec: {replicas: null}"),
    patch("strategic", "spec: {replicas: 2}", { namespace: "team" }),
    patch("strategic", "$patch: replace\nmetadata: {namespace: team}\nspec: {}"),
    patch("strategic", "$patch: delete", {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
    }),
  ])("allows %j", async (one) => {
    expect(await linesFor([one])).toEqual([]);
  });

  test.each([
    [patch("merge", "a: {"), "convert patch content to JSON: yaml: line 1: "],
    [patch("merge", "{}", { name: "nothing" }), "did not match any generated resource"],
    [patch("merge", "$patch: delete"), "$patch directive is only supported for the strategic"],
    [patch("strategic", "$patch: delete"), "deleting protected resource apps/v1, Kind=Deployment"],
    [patch("merge", "metadata: {finalizers: [a]}"), "metadata.finalizers belongs to knfleet"],
    [patch("merge", "metadata: {name: x}"), "patch must not change apiVersion, kind"],
    [patch("json", "[{op: remove, path: /x}]"), "apply JSON patch: "],
  ])("refuses %j with the reason", async (one, problem) => {
    const good = patch("merge", "{}");
    const lines = await linesFor([good, one]);
    expect(lines).toEqual([
      expect.stringMatching(/^422 spec\.patches\[1\]: ManifestInvalid: patch 1 target apps\/v1, /),
    ]);
    expect(lines[0]).toContain(problem);
  });

  test("refuses more than 64 patches, another type, and a patch without its parts", async () => {
    const many = Array.from({ length: 65 }, () => patch("merge", "{}"));
    expect(await linesFor(many.slice(1))).toEqual([]);
    expect(await linesFor(many)).toEqual(["422 spec.patches: must not hold more than 64 patches"]);
    expect(await linesFor([patch("yaml", "{}")])).toEqual([
      expect.stringMatching(/^422 spec\.patches\[0\]\.patch\.type: /),
    ]);
    expect(await linesFor([{ target: deployment }])).toEqual([
      expect.stringMatching(/^422 spec\.patches\[0\].*patch/),
    ]);
  });

  test("checks only the content where manifests are not looked at", async () => {
    const spec = { additionalManifests: [{ URL: "https://example.com/a.yaml" }] };
    const elsewhere = { apiVersion: "example.com/v1", kind: "Widget", name: "w" };
    expect(await linesFor([patch("merge", "spec: {a: 1}", elsewhere)], spec)).toEqual([]);
    const wrong = [
      patch("merge", "spec: [", elsewhere),
      patch("strategic", "$patch: delete", { apiVersion: "v1", kind: "Namespace" }),
      patch("json", "[{op: add, path: /metadata/finalizers, value: []}]", elsewhere),
    ];
    expect((await linesFor(wrong, spec)).map((line) => line.split(": ").slice(0, 2))).toEqual(
      [0, 1, 2].map((index) => [`422 spec.patches[${index}]`, "ManifestInvalid"]),
    );
  });

  test("a target may name the namespace that the cluster of the reference uses", async () => {
    const spec = { clusterProfileRef: { namespace: "fleet", name: "spoke-1" } };
    const problems = async (namespace: string) =>
      (await linesFor([patch("merge", "{}", { namespace })], spec)).filter((line) =>
        line.includes("did not match"),
      );
    expect(await problems("team")).toEqual([]);
    expect(await problems("knative-serving")).toEqual([]);
    expect(await problems("other")).toHaveLength(1);
  });
});

test("patches of roles and bindings need the right to bring manifests, where that is asked for", async () => {
  const binding = patch("merge", "subjects: []", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    name: "knative-serving-controller-admin",
  });
  const spec = { ...kourier, patches: [patch("merge", "{}"), binding] };
  const strict = { ...stage(), manifestRight: true, may: () => false };
  const lines = linesOf(await review(written(spec), strict));
  expect(lines).toEqual([
    expect.stringMatching(/^403 spec\.patches\[1\]: user .* may not "apply-cluster-scoped"/),
  ]);
  expect(linesOf(await review(written(spec, { before: spec }), strict))).toEqual([]);
});
