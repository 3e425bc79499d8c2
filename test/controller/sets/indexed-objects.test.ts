import { expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { IndexedObjects } from "../../../controller/sets/indexed-objects.ts";
import { FakeClock } from "../../support/fake-clock.ts";

function at(resourceVersion: string, owner: string): KubeObject {
  const metadata = { name: "a", uid: "1", resourceVersion, labels: { owner } };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

const clock = new FakeClock();

function index(): IndexedObjects<KubeObject> {
  return new IndexedObjects(clock, ({ metadata }) => [metadata.labels?.["owner"] ?? ""]);
}

test("what was written and is not seen yet is among all", () => {
  const objects = index();
  objects.see("b", at("1", "x"));
  expect(objects.in("x")).toEqual([at("1", "x")]);
  objects.add("a", at("7", "x"), clock.now());
  expect(objects.in("x")).toEqual([at("1", "x"), at("7", "x")]);
  objects.delete("a");
  expect(objects.in("x")).toEqual([at("1", "x")]);
});

test("an object is in the group of its newest state only", () => {
  const objects = index();
  objects.see("a", at("1", "x"));
  objects.add("a", at("3", "y"), clock.now());
  expect([objects.in("x"), objects.in("y")]).toEqual([[], [at("3", "y")]]);
  // The watch lags behind the write.
  objects.see("a", at("2", "x"));
  expect([objects.in("x"), objects.in("y")]).toEqual([[], [at("3", "y")]]);
  objects.see("a", at("4", "z"));
  expect([objects.in("x"), objects.in("y"), objects.in("z")]).toEqual([[], [], [at("4", "z")]]);
});

test("a write that no watch ever showed is forgotten after ten minutes", () => {
  const objects = index();
  objects.add("a", at("7", "x"), clock.now());
  expect(objects.in("x")).toEqual([at("7", "x")]);
  clock.jump(600_001);
  expect(objects.in("x")).toEqual([]);
});

test("an object that was deleted does not come back in the place of a later write", () => {
  const objects = index();
  objects.see("a", at("1", "x"));
  objects.delete("a");
  objects.add("a", at("7", "x"), clock.now());
  expect(objects.in("x")).toEqual([at("7", "x")]);
  clock.jump(600_001);
  expect(objects.in("x")).toEqual([]);
});
