import { describe, expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { withoutDuplicates } from "../../render/assemble.ts";

const map = (name: string, value: string, apiVersion = "v1"): Manifest => ({
  apiVersion,
  kind: "ConfigMap",
  metadata: { name },
  data: { value },
});

const namespace = (labels: Record<string, string>): Manifest => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "a", labels },
});

describe("duplicates", () => {
  test("the first one stands, over all versions of a group", () => {
    const old = map("a", "1", "example.com/v1");
    expect(withoutDuplicates([old, map("b", "1"), map("a", "2", "example.com/v2")])).toEqual([
      old,
      map("b", "1"),
    ]);
  });

  test("a winning one takes the place of the first", () => {
    const winning = [map("a", "2"), map("c", "2")];
    expect(withoutDuplicates([map("a", "1"), map("b", "1")], winning)).toEqual([
      map("a", "2"),
      map("b", "1"),
      map("c", "2"),
    ]);
  });

  test("Namespaces are merged, the first one has the last word", () => {
    expect(
      withoutDuplicates([namespace({ x: "core" }), namespace({ x: "kourier", y: "kourier" })]),
    ).toEqual([namespace({ x: "core", y: "kourier" })]);
  });
});
