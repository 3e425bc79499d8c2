import { expect, test } from "vitest";

import { planTable } from "../../../../../cmd/kubectl/commands/plan/plan-table.ts";
import type { PlanItem, PlannedChange } from "../../../../../cmd/kubectl/compare/plan-item.ts";

const label = '.metadata.labels["app.kubernetes.io/version"]';

function change(name: string, paths: readonly string[], pods = 0): PlannedChange {
  const fields = paths.map((path) => ({ path, live: "1.22", wanted: "1.23" }));
  const object = { apiVersion: "v1", kind: "ConfigMap", namespace: "a", name };
  return { action: "change", object, fields, message: null, pods };
}

function itemOf(changes: readonly PlannedChange[], cluster: PlanItem["cluster"] = null): PlanItem {
  return {
    installation: { kind: "KnativeServing", namespace: "a", name: "a" },
    cluster,
    hub: { action: "none", fields: [], message: null },
    version: { installed: "1.22.0", wanted: "1.23.0" },
    blocked: null,
    warnings: [],
    changes,
    upgrade: null,
  };
}

const changes = [
  ...["one", "two", "three", "four"].map((name) => change(name, [label])),
  change("data", [label, ".data.size"]),
  change("pods", [label], 2),
];
const names = (wide: boolean, items: readonly PlanItem[]): readonly unknown[] =>
  planTable(items, wide).rows.map(([, , kind, , name, pods]) => [kind, name, pods]);

test("objects that get the same labels and nothing else are one row", () => {
  expect(names(false, [itemOf(changes)])).toEqual([
    ["4 objects", "<many>", "<none>"],
    ["ConfigMap", "data", "<none>"],
    ["ConfigMap", "pods", "2"],
  ]);
});

test("of each cluster its own, and two objects keep their rows", () => {
  const other = { namespace: "fleet", name: "eu-1" };
  const two = changes.slice(0, 2);
  expect(names(false, [itemOf(changes.slice(0, 3)), itemOf(two, other)])).toEqual([
    ["3 objects", "<many>", "<none>"],
    ["ConfigMap", "one", "<none>"],
    ["ConfigMap", "two", "<none>"],
  ]);
});

test("a wide table has a row for each object", () => {
  expect(names(true, [itemOf(changes)])).toHaveLength(6);
});
