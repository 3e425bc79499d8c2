import { expect, test } from "vitest";

import type { Component } from "../../api/component.ts";
import { objectId } from "../../api/keys.ts";
import { type ObjectKey } from "../../api/kubernetes.ts";
import { keysWaitingFor, type InventoryChange } from "../../controller/component-changes.ts";
import { Installation } from "../../controller/reconcile/installation.ts";
import { holderText } from "../../controller/reconcile/neighbours.ts";
import { component } from "./neighbourhood.ts";

const holder = component("KnativeServing", "serving");
const other = component("KnativeServing", "other");

function keyOf(name: string): ObjectKey {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name };
}

function having(...names: readonly string[]) {
  return { entries: names.map((name) => ({ ...keyOf(name), hash: "" })) };
}

/** Installations by key, each with the objects that it left to a holder. */
function leavers(all: Readonly<Record<string, readonly [string, Component]>>) {
  return Object.entries(all).map(([key, [name, to]]) => {
    const leftTo = (words: string): readonly string[] =>
      words === holderText(to) ? [objectId(keyOf(name))] : [];
    return [key, { leftTo }] as const;
  });
}

test.each<{ name: string; holdings: InventoryChange; heirs: readonly string[] }>([
  {
    name: "gives up one",
    holdings: { before: having("a", "b"), after: having("b") },
    heirs: ["a"],
  },
  { name: "never had it", holdings: { before: having("c"), after: having() }, heirs: [] },
  { name: "keeps all", holdings: { before: having("a", "b"), after: having("a", "b") }, heirs: [] },
  { name: "is removed", holdings: { before: "all", after: having() }, heirs: ["a", "b"] },
  { name: "is seen first", holdings: { before: undefined, after: having() }, heirs: [] },
  { name: "loses its anchor", holdings: { before: having("a"), after: undefined }, heirs: [] },
])("of a holder that $name the heirs are $heirs", ({ holdings, heirs }) => {
  const all = leavers({ a: ["a", holder], b: ["b", holder], c: ["a", other] });
  expect(keysWaitingFor(holder, holdings, all)).toEqual(heirs);
});

test("an installation without a view has left no object to a holder", async () => {
  await using installation = new Installation("uid");
  expect(installation.leftTo(holderText(holder))).toEqual([]);
});
