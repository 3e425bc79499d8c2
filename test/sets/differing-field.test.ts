import { expect, test } from "vitest";

import { differingField, fieldManagerOf } from "../../sets/differing-field.ts";

test.each([
  { desired: { a: { b: 1 } }, live: { a: { b: 1, c: 2 } }, path: undefined },
  { desired: { a: { "b.c": 1 } }, live: { a: { "b.c": 2 } }, path: ["a", "b.c"] },
  { desired: { a: [{ b: 1 }] }, live: { a: [{ b: 2 }] }, path: ["a", "0", "b"] },
  { desired: { a: [1] }, live: { a: [1, 2] }, path: ["a"] },
  { desired: { a: null }, live: {}, path: undefined },
])("the first difference of $desired and $live is $path", ({ desired, live, path }) => {
  expect(differingField(desired, live)).toEqual(path);
});

const entry = (manager: string, fields: object, more: object = {}) => ({
  manager,
  operation: "Update",
  time: "2026-11-25T12:00:00Z",
  fieldsV1: { "f:spec": JSON.parse(JSON.stringify(fields)) },
  ...more,
});
const config = { "f:config": { ".": {}, "f:network": { "f:ingress.class": {} } } };
const path = ["config", "network", "ingress.class"];

test.each([
  {
    name: "the one that wrote it",
    entries: [entry("kubectl-edit", config)],
    manager: "kubectl-edit",
  },
  {
    name: "the later of two",
    entries: [entry("argocd", config, { time: "2026-11-25T12:01:00Z" }), entry("helm", config)],
    manager: "argocd",
  },
  {
    name: "one that wrote what is around it as a whole",
    entries: [entry("flux", { "f:config": {} })],
    manager: "flux",
  },
  { name: "never the set", entries: [entry("knfleet-set", config)], manager: undefined },
  {
    name: "never who wrote another field",
    entries: [entry("helm", { "f:config": { ".": {} } })],
    manager: undefined,
  },
  {
    name: "never who wrote the status",
    entries: [entry("x", config, { subresource: "status" })],
    manager: undefined,
  },
])("the manager of a field is $name", ({ entries, manager }) => {
  expect(fieldManagerOf(entries, path)).toBe(manager);
});
