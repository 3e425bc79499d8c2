import { describe, expect, test } from "vitest";

import { setRules } from "../../../../webhook/rules/sets/set-rules.ts";
import { linesOf } from "../../component-stage.ts";
import { goodSpec, reviewSet, writtenSet } from "./set-stage.ts";
import { verifyCases } from "./verify-cases.ts";

const clusters = (changes: object) => ({ clusters: { from: "Selector", ...changes } });
const stages = (...list: readonly object[]) => ({ rollout: { stages: list } });
const all = { name: "all", selector: {} };
const override = (changes: object) => ({
  overrides: [{ name: "eu", clusters: ["eu-*"], patch: {}, ...changes }],
});
const template = (spec: object, metadata = {}) => ({ template: { spec, metadata } });
const windows = (window: object) => ({
  rollout: { windows: [{ cron: "0 22 * * 1-5", duration: "6h", ...window }] },
});
const registry = (image: string) => template({ registry: { default: image } });
const known = "$(cluster.name), $(cluster.namespace)";

const wrong: readonly (readonly [rule: string, spec: object, line: string])[] = [
  ...verifyCases,
  ["shape", { clusters: { from: 1 } }, "422 spec.clusters.from: must be string"],
  ["shape", clusters({ selector: { matchLabels: { a: 1 } } }), "must be string"],
  ["shape", { template: [] }, "422 spec.template: must be object"],
  ["shape", { rollout: { minReadySeconds: 1.5 } }, "spec.rollout.minReadySeconds: must be integer"],
  ["shape", { rollout: { progressDeadline: "soon" } }, "must match pattern"],
  [
    "selectors",
    clusters({ selector: { matchLabels: { "a b": "c" } } }),
    '422 spec.clusters.selector.matchLabels["a b"]: the name of the key must be',
  ],
  [
    "selectors",
    clusters({ selector: { matchExpressions: [{ key: "a", operator: "in", values: ["b"] }] } }),
    '422 spec.clusters.selector.matchExpressions[0].operator: must be one of In, NotIn, Exists, DoesNotExist (is "in")',
  ],
  [
    "selectors",
    clusters({ selector: { matchExpressions: [{ key: "a", operator: "In" }] } }),
    "422 spec.clusters.selector.matchExpressions[0].values: must not be empty where the operator is In",
  ],
  [
    "selectors",
    override({ clusters: undefined, selector: { matchLabels: { a: "!" } } }),
    "422 spec.overrides[0].selector.matchLabels.a: the value must be",
  ],
  [
    "selectors",
    stages({ name: "a", selector: { matchExpressions: [{ key: "", operator: "Exists" }] } }),
    "422 spec.rollout.stages[0].selector.matchExpressions[0].key: the name of the key",
  ],
  [
    "selectors",
    clusters({ selector: { namespaces: ["fleet", "A"] } }),
    '422 spec.clusters.selector.namespaces[1]: must be the name of a Namespace (is "A")',
  ],
  [
    "selectors",
    clusters({ exclude: [{ name: "eu-1" }, { name: "edge-*" }] }),
    '422 spec.clusters.exclude[1].name: must be the whole name of a ClusterProfile (is "edge-*")',
  ],
  [
    "selectors",
    clusters({ exclude: [{ name: "eu-1", namespace: "*" }] }),
    '422 spec.clusters.exclude[0].namespace: must be the name of a Namespace (is "*")',
  ],
  [
    "selectors",
    { clusters: { from: "PlacementDecision", placementDecision: { decisionKey: "a b" } } },
    "422 spec.clusters.placementDecision.decisionKey: the value must be",
  ],
  [
    "selectors",
    { clusters: { from: "PlacementDecision", placementDecision: { placementKey: "" } } },
    "422 spec.clusters.placementDecision.placementKey: must not be empty",
  ],
  [
    "selectors",
    { clusters: { from: "OCMPlacement", ocmPlacement: { name: "a".repeat(64) } } },
    "422 spec.clusters.ocmPlacement.name: the value must be at most 63",
  ],
  [
    "template-metadata",
    template({}, { labels: { "knfleet.dev/set": "mine" } }),
    '422 spec.template.metadata.labels["knfleet.dev/set"]: is set by knfleet itself',
  ],
  [
    "template-metadata",
    template({}, { annotations: { "operator.knative.dev/protected": "true" } }),
    '422 spec.template.metadata.annotations["operator.knative.dev/protected"]: is set by knfleet itself',
  ],
  [
    "template-metadata",
    template({}, { annotations: { "knfleet.dev/delivery": "Pull" } }),
    '422 spec.template.metadata.annotations["knfleet.dev/delivery"]: is for a single component; annotate the component itself',
  ],
  [
    "template-metadata",
    template({}, { labels: { "knfleet.dev/keep-while-used": "true" } }),
    "is set by knfleet itself",
  ],
  [
    "template-metadata",
    template({}, { labels: { team: "a b" } }),
    "422 spec.template.metadata.labels.team: the value must be",
  ],
  [
    "template-reference",
    template({ clusterProfileRef: { namespace: "a", name: "b" } }),
    "422 spec.template.spec.clusterProfileRef: is set by the set itself, for each cluster",
  ],
  [
    "overrides",
    override({ patch: { clusterProfileRef: null } }),
    "422 spec.overrides[0].patch.clusterProfileRef: is set by the set itself, for each cluster",
  ],
  [
    "overrides",
    override({ clusters: ["eu-*", "EU"] }),
    '422 spec.overrides[0].clusters[1]: must be the name of a ClusterProfile, in which * and ? stand for characters (is "EU")',
  ],
  [
    "overrides",
    override({ patch: { config: { network: { a: "x".repeat(65_536) } } } }),
    "422 spec.overrides[0].patch: must not be larger than 64 KiB",
  ],
  [
    "values",
    registry("$(cluster.region)/${NAME}"),
    `422 spec.template.spec.registry.default: has "$(cluster.region)/\${NAME}", which is not understood; there are ${known}`,
  ],
  ["values", registry("$(cluster.name/${NAME}"), "which is not understood"],
  ["values", registry("$(cluster.labels[])/${NAME}"), "which is not understood"],
  ["values", registry("$(cluster.name:default)/${NAME}"), "which is not understood"],
  [
    "values",
    registry("$(cluster.labels[a b]:-x)/${NAME}"),
    '422 spec.template.spec.registry.default: $(cluster."labels[a b]"): the name of the key',
  ],
  [
    "values",
    registry(`$(cluster.properties[${"p".repeat(254)}]:-x)/\${NAME}`),
    "the name of a property has at most 253 characters",
  ],
  [
    "values",
    template({ version: "$(cluster.labels[v])" }),
    "422 spec.template.spec.version: is taken as it is and cannot have $(cluster.…)",
  ],
  [
    "values",
    override({ patch: { manifests: [{ URL: "https://$(cluster.name).example.com/a" }] } }),
    "422 spec.overrides[0].patch.manifests[0].URL: is taken as it is",
  ],
  [
    "values",
    template({ config: { network: { "$(cluster.name)": "a" } } }),
    '422 spec.template.spec.config.network["$(cluster.name)"]: the name of a field cannot have $(cluster.…)',
  ],
  [
    "values",
    template({}, { annotations: { a: "$(cluster.name)" } }),
    "422 spec.template.metadata.annotations.a: is taken as it is; $(cluster.…) stands in texts of template.spec only",
  ],
  [
    "stages",
    stages({ name: "unmatched", selector: {} }),
    "422 spec.rollout.stages[0].name: unmatched is the stage of the clusters that no other stage has",
  ],
  ["stages", stages({ name: "-a", selector: {} }), "422 spec.rollout.stages[0].name: the value"],
  [
    "windows",
    windows({ cron: "0 22 * * 1-8" }),
    '422 spec.rollout.windows[0].cron: is no cron expression (is "0 22 * * 1-8")',
  ],
  ["windows", windows({ cron: "0 0 22 * * 1-5" }), "cron: must have five fields"],
  ["windows", windows({ cron: "@midnight" }), "cron: must have five fields"],
  ["windows", windows({ cron: "0 0 30 2 *" }), "cron: never comes to pass"],
  [
    "windows",
    windows({ timeZone: "Berlin" }),
    '422 spec.rollout.windows[0].timeZone: must be an IANA name such as Europe/Berlin (is "Berlin")',
  ],
  ["windows", windows({ timeZone: "+02:00" }), "timeZone: must be an IANA name"],
  ["windows", windows({ timeZone: "" }), "timeZone: must be an IANA name"],
  [
    "windows",
    stages({ ...all, before: { windows: [{ cron: "x x x x x", duration: "1h" }] } }),
    "422 spec.rollout.stages[0].before.windows[0].cron: is no cron expression",
  ],
  ["order", { rollout: { order: "Label:a b" } }, "422 spec.rollout.order: the name of the key"],
  [
    "durations",
    { whenUnselected: { after: "99999999999999999999h" } },
    '422 spec.whenUnselected.after: must be a duration such as 1h30m, at most 8760h (is "99999999999999999999h")',
  ],
  [
    "durations",
    { rollout: { progressDeadline: "0s" } },
    "422 spec.rollout.progressDeadline: must be longer than 0s; None is no deadline",
  ],
  [
    "durations",
    stages({ ...all, after: { soak: "8761h" } }),
    "422 spec.rollout.stages[0].after.soak: must be a duration",
  ],
];

describe("the rules about the fields of a set", () => {
  const cases = wrong.map(([rule, changes, line]) => ({ rule, changes, line }));

  test.each(cases)("$rule: $line", async ({ rule, changes, line }) => {
    const { violations } = await reviewSet(writtenSet({ ...goodSpec, ...changes }));
    expect(violations.map((one) => one.rule)).toContain(rule);
    expect(linesOf({ violations, warnings: [] })).toContainEqual(expect.stringContaining(line));
  });

  test("each has a case", () => {
    const tried = new Set(wrong.map(([rule]) => rule));
    expect(Object.keys(setRules).filter((rule) => !tried.has(rule))).toEqual([]);
  });

  test.each([
    ["the example of sets.md", {}],
    [
      "every reference, an escape, and what is no reference",
      template({
        config: {
          network: {
            a: "$(cluster.name:-a) $(cluster.namespace) $(cluster.displayName) $(cluster.labels[a.b/c])",
            b: "$(cluster.properties[registry/eu 1]:-b) $$(cluster.none) $(POD_NAME) ${NAME} $(clusters.x)",
          },
        },
      }),
    ],
    ["a default that is empty", template({ config: { network: { a: "$(cluster.labels[x]:-)" } } })],
    [
      "components that are kept while they are used",
      template(goodSpec.template.spec, { annotations: { "knfleet.dev/keep-while-used": "true" } }),
    ],
    ["windows in a time zone", windows({ timeZone: "Europe/Berlin" })],
    ["the last day of a month, and the 29th of February", windows({ cron: "0 0 29 2 1" })],
    ["an order by a label", { rollout: { order: "Label:example.com/wave" } }],
    ["no deadline", { rollout: { progressDeadline: "None" } }],
    [
      "a patch of exactly 64 KiB",
      override({ patch: { config: { network: { a: "x".repeat(65_536 - 31) } } } }),
    ],
    ["globs", override({ clusters: ["*", "eu-?", "a.b"] })],
    ["an OCM placement", { clusters: { from: "OCMPlacement", ocmPlacement: { name: "prod" } } }],
  ])("pass %s", async (_name, changes) => {
    const lines = linesOf(await reviewSet(writtenSet({ ...goodSpec, ...changes })));
    expect(lines).toEqual([]);
  });

  test("an object that is too large is refused before anything else", async () => {
    const exclude = Array.from({ length: 5_000 }, () => ({ name: "a" }));
    const spec = { ...goodSpec, clusters: { ...goodSpec.clusters, exclude } };
    expect(linesOf(await reviewSet(writtenSet(spec)))).toEqual([
      "422 spec: must not hold more than 4096 list elements (holds 5001)",
    ]);
  });
});
