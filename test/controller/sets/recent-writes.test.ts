import { expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { RecentWrites } from "../../../controller/sets/recent-writes.ts";

function at(resourceVersion: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", uid: "1", resourceVersion },
  };
}

test("the newer one of a write and of what a watch shows counts", () => {
  const recent = new RecentWrites<KubeObject>();
  recent.add("a", at("7"), 0);
  expect(recent.newest("a", at("6"), 1)).toEqual(at("7"));
  expect(recent.newest("a", undefined, 1)).toEqual(at("7"));
  expect(recent.newest("a", at("8"), 1)).toEqual(at("8"));
  // From then on the watch is believed, also when it says that the object is gone.
  expect(recent.newest("a", undefined, 1)).toBeUndefined();
});

test("a write that no watch ever showed is forgotten after ten minutes", () => {
  const recent = new RecentWrites<KubeObject>();
  recent.add("a", at("7"), 0);
  expect(recent.newest("a", at("6"), 600_001)).toEqual(at("6"));
});

test("a write of an object that was deleted does not count any more", () => {
  const recent = new RecentWrites<KubeObject>();
  recent.add("a", at("7"), 0);
  recent.delete("a");
  expect(recent.newest("a", undefined, 1)).toBeUndefined();
});
