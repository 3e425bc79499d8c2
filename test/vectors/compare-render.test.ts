import { describe, expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { serving } from "../render/components.ts";
import { differencesOf } from "./compare-render.ts";
import type { CaseOutcome } from "./render-case.ts";
import type { RenderCase } from "./render-cases.ts";
import { verdictOf } from "./render-report.ts";
import { totalLine, verdictLines } from "./verdict.ts";

function configMap(data: object, name = "config-x"): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "a" }, data };
}

function verdict(
  upstream: readonly Manifest[] | RenderCase["expected"],
  knfleet: readonly Manifest[] | undefined,
) {
  const expected =
    "error" in upstream ? upstream : { targetVersion: "1.23.0", statusManifests: [] };
  const objects = Array.isArray(upstream) ? upstream : undefined;
  const one: RenderCase = { name: "case", dir: "/case", expected, objects };
  const outcome: CaseOutcome = {
    component: serving(),
    ...(knfleet === undefined
      ? {}
      : {
          rendered: {
            version: "1.23.0",
            paths: [],
            remarks: [],
            deletions: [],
            objects: knfleet,
          },
        }),
  };
  return verdictOf(
    "case",
    differencesOf(one, outcome, (object) => object),
  );
}

function namespace(labels: Readonly<Record<string, string>>): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name: "a", labels } };
}

describe("a case", () => {
  test.each([
    {
      name: "is equal in any order",
      upstream: [configMap({}), namespace({})],
      own: [namespace({}), configMap({})],
      kind: "equal",
    },
    {
      name: "is equal when upstream applies an object twice (D-34)",
      upstream: [configMap({}), configMap({})],
      own: [configMap({})],
      kind: "equal",
    },
    {
      name: "is wrong in one value",
      upstream: [configMap({ a: "b" })],
      own: [configMap({ a: "c" })],
      kind: "wrong",
    },
    {
      name: "is wrong in one field too many",
      upstream: [configMap({})],
      own: [configMap({ a: "c" })],
      kind: "wrong",
    },
    {
      name: "is wrong without an object",
      upstream: [configMap({}), configMap({}, "config-y")],
      own: [configMap({})],
      kind: "wrong",
    },
    {
      name: "is wrong with an object too many",
      upstream: [configMap({})],
      own: [configMap({}), configMap({}, "config-y")],
      kind: "wrong",
    },
    {
      name: "merges Namespaces on purpose",
      upstream: [namespace({ a: "b" }), namespace({ c: "d" })],
      own: [namespace({ a: "b", c: "d" })],
      kind: "different",
    },
    {
      name: "is wrong when a merged Namespace lacks a label",
      upstream: [namespace({ a: "b" }), namespace({ c: "d" })],
      own: [namespace({ a: "b" })],
      kind: "wrong",
    },
    {
      name: "is wrong when it is refused",
      upstream: [configMap({})],
      own: undefined,
      kind: "wrong",
    },
    {
      name: "is wrong when an error is rendered",
      upstream: { error: "unknown thing" },
      own: [configMap({})],
      kind: "wrong",
    },
    {
      name: "may be rendered where upstream crashes",
      upstream: { error: "nil", panic: true },
      own: [configMap({})],
      kind: "different",
    },
  ])("$name", ({ upstream, own, kind }) => expect(verdict(upstream, own).kind).toBe(kind));

  test("that is wrong shows how", () => {
    const found = verdict([configMap({ a: "b" })], [configMap({ a: "c" })]);
    expect(found.details).toContain("-  a: b\n+  a: c\n");
    expect(verdictLines(found)).toMatch(/^WRONG {6}case\n {4}--- upstream /);
  });
});

test("a total says how many were what", () => {
  expect(totalLine("render", { equal: 2, different: 1, wrong: 0 })).toBe(
    "render: 3 vectors, 2 equal, 1 different on purpose, 0 wrong\n",
  );
});
