import { describe, expect, test } from "vitest";

import { recordAt } from "../../../api/fields.ts";
import { strategicMerged } from "../../../render/patches/strategic-merge.ts";
import { activatorWith } from "./activator-patches.ts";

function containerOf(patch: string) {
  const { spec } = recordAt(activatorWith("strategic", patch), "spec", "template");
  const list: unknown = recordAt({ spec }, "spec")["containers"];
  const containers: readonly unknown[] = Array.isArray(list) ? list : [];
  return containers.find((one) => recordAt(one)["name"] === "activator");
}

function envOf(env: string): unknown {
  const patch = `spec: {template: {spec: {containers: [{name: activator, ${env}}]}}}`;
  return recordAt(containerOf(patch))["env"];
}

function mergedMetadata(
  patch: Readonly<Record<string, unknown>>,
  finalizers?: readonly string[],
): unknown {
  return strategicMerged(finalizers === undefined ? {} : { finalizers }, patch, "ObjectMeta");
}

const [a, b, c] = ["A", "B", "C"].map((name, at) => ({ name, value: String(at + 1) }));

/** What the recorded cases do not show, because they patch what is knfleet's own, or do not come to it. */
describe("a strategic merge patch", () => {
  test("unites lists of texts", () => {
    expect(mergedMetadata({ finalizers: ["b", "a", "b"] })).toEqual({
      finalizers: ["b", "a", "b"],
    });
    expect(mergedMetadata({ finalizers: ["c", "a"] }, ["b", "a", "b"])).toEqual({
      finalizers: ["c", "b", "a"],
    });
    const deletion = { "$deleteFromPrimitiveList/finalizers": ["b", "zzz"] };
    expect(mergedMetadata(deletion, ["c", "b", "a"])).toEqual({ finalizers: ["c", "a"] });
    expect(mergedMetadata(deletion)).toEqual({});
  });

  test("puts new items before those that were there", () => {
    expect(envOf("env: [{name: NEW, value: new}]")).toEqual([
      { name: "NEW", value: "new" },
      a,
      b,
      c,
    ]);
  });

  test("keeps the order of the patch as far as the original allows it", () => {
    expect(envOf("env: [{name: C}, {name: NEW, value: new}, {name: A}]")).toEqual([
      b,
      c,
      { name: "NEW", value: "new" },
      a,
    ]);
  });

  test("gives items the order that is asked for", () => {
    expect(envOf("$setElementOrder/env: [{name: C}, {name: A}]")).toEqual([b, c, a]);
  });

  test.each([
    ["$setElementOrder/env: [{name: A}], env: [{name: N, value: x}]", "is not in the order"],
    ["$setElementOrder/env: A", "is no list"],
    ["$setElementOrder: [A]", "has no field after a slash"],
    ["$retainKeys: [name], image: x", "$retainKeys lacks image"],
    ["$retainKeys: name", "$retainKeys is no list"],
    ["env: [{$patch: delete}]", "does not contain declared merge key: name"],
    ["env: [{name: A, $patch: merge}]", "unknown patch type"],
    ["env: [text]", "list element types are not identical"],
    ["env: [[]]", "lists of lists are not supported"],
  ])("refuses %s", (env, problem) => {
    expect(() => envOf(env)).toThrow(problem);
  });

  test("leaves directives out of what is new", () => {
    const patch = "lifecycle: {preStop: {$patch: delete}, postStart: {exec: {command: [a]}}}";
    expect(
      recordAt(
        containerOf(`spec: {template: {spec: {containers: [{name: activator, ${patch}}]}}}`),
      )["lifecycle"],
    ).toEqual({
      postStart: { exec: { command: ["a"] } },
    });
  });

  test("keeps what a message says of a patch free of its values", () => {
    const patch = "containers: [{name: activator, env: [{value: s3cret}]}]";
    expect(() => activatorWith("strategic", `spec: {template: {spec: {${patch}}}}`)).toThrow(
      /^patch 0 target (?!.*s3cret)/,
    );
  });
});
