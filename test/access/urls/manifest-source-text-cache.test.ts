import { expect, test } from "vitest";

import { TextCache } from "../../../access/urls/manifest-source.ts";

test("a cache forgets what was not used for the longest time", () => {
  const cache = new TextCache(6);
  for (const key of ["a", "b", "c"]) cache.set(key, { text: "xx", freshUntil: 0 });
  cache.get("a");
  cache.set("d", { text: "xx", freshUntil: 0 });
  expect(["a", "b", "c", "d"].filter((key) => cache.get(key) !== undefined)).toEqual([
    "a",
    "c",
    "d",
  ]);
});

test("a cache counts a text that is replaced once, and keeps none that is larger than itself", () => {
  const cache = new TextCache(6);
  cache.set("a", { text: "xxxx", freshUntil: 0 });
  cache.set("a", { text: "xxxx", freshUntil: 1 });
  cache.set("b", { text: "xx", freshUntil: 1 });
  expect(cache.get("a")?.freshUntil).toBe(1);
  cache.set("c", { text: "xxxxxxx", freshUntil: 1 });
  expect(cache.get("c")).toBeUndefined();
});
