import { describe, expect, test } from "vitest";

import type { Attempt } from "../../../../webhook/reviews/access-review.ts";
import { linesOf } from "../../component-stage.ts";
import { goodSpec, prodProfile, reviewSet, type SetStage, writtenSet } from "./set-stage.ts";

type Request = Parameters<typeof reviewSet>[0];

/** What the webhook asks whether the author may do it, as `verb resource.group namespace[/name]`. */
async function askedFor(request: Request, stage: SetStage = {}): Promise<readonly string[]> {
  const asked: string[] = [];
  const may = (_user: string, { verb, resource, group, namespace, name }: Attempt) => {
    asked.push(`${verb} ${resource}.${group} ${namespace}${name === undefined ? "" : `/${name}`}`);
    return true;
  };
  await reviewSet(request, { ...stage, may });
  return asked;
}

const use = (namespace: string) => `use clusterprofiles.multicluster.x-k8s.io ${namespace}`;
const serving = (verb: string) => `${verb} knativeservings.operator.knative.dev platform`;
const usual = [use("fleet"), serving("create")];
const manifests = [{ URL: "https://example.com/a.yaml" }];
const all = { ...goodSpec, whenUnselected: { policy: "Delete" }, deletionPolicy: "Delete" };
const patchOf = (content: string) => ({
  target: { apiVersion: "apps/v1", kind: "Deployment", name: "activator" },
  patch: { type: "strategic", content },
});
const plainSpec = { ...goodSpec, template: { spec: { version: "1.23" } } };
const overridden = (patch: object) => ({
  ...plainSpec,
  overrides: [{ name: "eu", clusters: ["eu-*"], patch }],
});
const gates = (...secrets: readonly string[]) => ({
  verify: {
    checks: secrets.map((secretName, at) => ({
      name: `gate-${at}`,
      webhook: { url: "https://checks.example/gate", secretName },
    })),
  },
});
const changed = (before: object, after: object) => writtenSet({ ...before, ...after }, { before });

describe("the rights that are asked for", () => {
  test.each([
    ["a create", writtenSet(goodSpec), usual],
    [
      "Secrets that checks send: to read each of them, once",
      writtenSet({
        ...goodSpec,
        rollout: {
          ...gates("knfleet-check-a", "knfleet-check-b", "knfleet-check-a"),
          stages: [{ name: "all", selector: {}, ...gates("knfleet-check-a") }],
        },
      }),
      [...usual, "get secrets. platform/knfleet-check-a", "get secrets. platform/knfleet-check-b"],
    ],
    ["a dry run", writtenSet(goodSpec, { dryRun: true }), usual],
    [
      "a set of the other kind",
      writtenSet(goodSpec, { kind: "KnativeEventingSet" }),
      [use("fleet"), "create knativeeventings.operator.knative.dev platform"],
    ],
    [
      "no namespaces: the set's own",
      writtenSet({ ...goodSpec, clusters: { from: "Selector", selector: {} } }),
      [use("platform"), serving("create")],
    ],
    [
      "several namespaces",
      writtenSet({
        ...goodSpec,
        clusters: { from: "Selector", selector: { namespaces: ["a", "b"] } },
      }),
      [use("a"), use("b"), serving("create")],
    ],
    [
      "a placement: the set's own",
      writtenSet({
        ...goodSpec,
        clusters: {
          from: "OCMPlacement",
          ocmPlacement: { name: "a" },
          selector: { namespaces: ["other"] },
        },
      }),
      [use("platform"), serving("create")],
    ],
    [
      "a change of the clusters",
      changed(goodSpec, { clusters: { from: "Selector", selector: {} } }),
      [use("platform"), serving("create")],
    ],
    [
      "an exclusion",
      changed(goodSpec, { clusters: { ...goodSpec.clusters, exclude: [{ name: "a" }] } }),
      usual,
    ],
    [
      "a change of the template",
      changed(goodSpec, { template: { spec: { version: "1.22" } } }),
      usual,
    ],
    ["a change of overrides", changed(goodSpec, { overrides: [] }), usual],
    ["a change of the rollout", changed(goodSpec, { rollout: { paused: true } }), []],
    [
      "no change of the spec",
      writtenSet(goodSpec, { before: goodSpec, metadata: { labels: { a: "b" } } }),
      [],
    ],
    ["a policy that deletes", writtenSet(all), [...usual, serving("delete")]],
    ["the policy alone", changed(goodSpec, { deletionPolicy: "Delete" }), [serving("delete")]],
    [
      "a policy that deletes no more",
      changed(all, { deletionPolicy: "Orphan", whenUnselected: { policy: "Orphan" } }),
      [],
    ],
    [
      "other clusters where those that are left out lose Knative",
      changed(all, { clusters: { from: "Selector", selector: {} } }),
      [use("platform"), serving("create"), serving("delete")],
    ],
    [
      "a template where clusters that are left out lose Knative",
      changed(all, { template: {} }),
      usual,
    ],
    [
      "a set that takes components over",
      writtenSet({ ...goodSpec, adoption: "Always" }),
      [...usual, serving("patch")],
    ],
    [
      "taking components over from now on",
      changed({ ...goodSpec, adoption: "IfEqual" }, { adoption: "Always" }),
      [serving("patch")],
    ],
    [
      "taking over no more",
      changed({ ...goodSpec, adoption: "Always" }, { adoption: "Never" }),
      [],
    ],
    ["a deletion", writtenSet(goodSpec, { operation: "DELETE" }), []],
    [
      "a set that is being deleted",
      writtenSet(all, {
        before: goodSpec,
        metadata: { deletionTimestamp: "2026-11-25T12:00:00Z" },
      }),
      [],
    ],
    ["a status", writtenSet(goodSpec, { before: {}, subResource: "status" }), []],
  ])("%s", async (_name, request, expected) => {
    expect(await askedFor(request)).toEqual(expected);
  });

  test.each([
    ["the policy", { deletionPolicy: "Delete" }],
    ["an exclusion", { clusters: { ...goodSpec.clusters, exclude: [{ name: "eu-1" }] } }],
    ["the stages", { rollout: { stages: [] } }],
  ])("of a set that is being deleted nobody may change %s", async (_name, fields) => {
    const metadata = { deletionTimestamp: "2026-11-25T12:00:00Z" };
    const request = writtenSet({ ...goodSpec, ...fields }, { before: goodSpec, metadata });
    expect(linesOf(await reviewSet(request))).toEqual([
      '403 spec: no longer changes, because KnativeServingSet "platform/prod" is being deleted',
    ]);
    const annotations = { "knfleet.dev/approve.canary-after": "x" };
    const kept = writtenSet(goodSpec, { before: goodSpec, metadata: { ...metadata, annotations } });
    expect(linesOf(await reviewSet(kept, { may: () => false }))).toEqual([]);
  });

  test.each([
    ["manifests in the template", { ...goodSpec, template: { spec: { manifests } } }, true],
    ["manifests in an override", overridden({ additionalManifests: manifests }), true],
    [
      "patches of roles",
      overridden({
        patches: [{ target: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" } }],
      }),
      true,
    ],
    [
      "patches of what a value of the cluster says",
      overridden({
        patches: [{ target: { apiVersion: "$(cluster.labels[a]:-apps/v1)", kind: "Deployment" } }],
      }),
      true,
    ],
    [
      "patches of others",
      overridden({ patches: [{ target: { apiVersion: "apps/v1", kind: "Deployment" } }] }),
      false,
    ],
    ["an override that removes manifests", overridden({ manifests: null }), false],
    ["none", plainSpec, false],
    ["images in the template", goodSpec, true],
    ["an image in an override", overridden({ registry: { override: { a: "b" } } }), true],
    [
      "the network of the node",
      overridden({ workloads: [{ name: "activator", hostNetwork: true }] }),
      true,
    ],
    [
      "patches of pods",
      overridden({ patches: [patchOf("spec: {template: {spec: {hostPID: true}}}")] }),
      true,
    ],
    [
      "patches with a value of the cluster",
      overridden({ patches: [patchOf("spec: {replicas: $(cluster.labels[a]:-1)}")] }),
      true,
    ],
    ["harmless patches", overridden({ patches: [patchOf("spec: {replicas: 2}")] }), false],
  ])("%s: apply-cluster-scoped %s %s", async (_name, spec, expected) => {
    const right = serving("apply-cluster-scoped");
    const asked = await askedFor(writtenSet(spec), { manifestRight: true });
    expect(asked.includes(right)).toBe(expected);
    // More clusters get what is there already.
    const selected = { ...spec, clusters: { from: "Selector", selector: {} } };
    const wider = await askedFor(writtenSet(selected, { before: spec }), { manifestRight: true });
    expect(wider.includes(right)).toBe(expected);
    expect(await askedFor(writtenSet(spec))).not.toContain(right);
  });
});

const lacking = (verb: string, answer: false | Error = false): SetStage => ({
  may: (_user, attempt) => (attempt.verb === verb ? answer : true),
  manifestRight: true,
});

describe("an author who lacks a right", () => {
  const wants = {
    ...all,
    template: { spec: { ...goodSpec.template.spec, additionalManifests: manifests } },
  };

  test.each([
    [
      "use",
      '403 spec.clusters.selector.namespaces[0]: user "alice" may not use all ClusterProfiles of namespace "fleet"',
    ],
    [
      "create",
      '403 spec.template: user "alice" may not create KnativeServings in namespace "platform"',
    ],
    [
      "delete",
      '403 spec.whenUnselected.policy: user "alice" may not delete KnativeServings in namespace "platform"',
    ],
    [
      "apply-cluster-scoped",
      '403 spec.template.spec: user "alice" may not "apply-cluster-scoped" for KnativeServings in namespace "platform", which images, manifests and patches of one\'s own need',
    ],
  ])("%s is refused", async (verb, line) => {
    expect(linesOf(await reviewSet(writtenSet(wants), lacking(verb)))).toEqual([line]);
    const [unanswered] = linesOf(
      await reviewSet(writtenSet(wants), lacking(verb, new Error("secret text"))),
    );
    expect(unanswered).toMatch(
      /^500 spec\..*: the SubjectAccessReview for the right to .* was not answered; try again$/,
    );
    expect(unanswered).not.toContain("secret");
  });

  test("learns nothing about clusters", async () => {
    const spec = overridden({ registry: { default: "no image" } });
    const combined = {
      ...spec,
      overrides: [
        ...spec.overrides,
        { name: "gold", selector: { matchLabels: { tier: "gold" } }, patch: {} },
      ],
    };
    const answers = await Promise.all(
      [[], [prodProfile("eu-1", { tier: "gold" })], new Error("away")].map((profiles) =>
        reviewSet(writtenSet(combined), { ...lacking("use"), profiles }),
      ),
    );
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
  });
});
