import { beforeEach, describe, expect, test } from "vitest";

import { KeptObjects } from "../../../access/kube/kept-objects.ts";
import { nameId } from "../../../api/keys.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";

let events: string[];
let objects: KeptObjects<KubeObject>;

beforeEach(() => {
  events = [];
  objects = new KeptObjects<KubeObject>((kept) => kept, {
    onChange: (now, before) => {
      const from = before === undefined ? "new" : versionOf(before);
      events.push(`changed ${now.metadata.name}: ${from} -> ${versionOf(now)}`);
    },
    onDelete: (last) => events.push(`deleted ${last.metadata.name}: ${versionOf(last)}`),
  });
});

function object(name: string, resourceVersion: string, uid = `uid-${name}`): KubeObject {
  const metadata = { namespace: "n", name, uid, resourceVersion };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid}@${metadata.resourceVersion}`;
}

test.each([
  { metadata: { namespace: "n", name: "a" }, key: "n/a" },
  { metadata: { namespace: "", name: "a" }, key: "a" },
  { metadata: { name: "a" }, key: "a" },
])("the key of $metadata is $key", ({ metadata, key }) => {
  expect(nameId(metadata)).toBe(key);
});

describe("a change", () => {
  test("of an unknown object is kept and reported without a state before", () => {
    objects.change(object("a", "1"));
    expect(objects.get("n/a")).toEqual(object("a", "1"));
    expect([...objects.values()]).toEqual([object("a", "1")]);
    expect(events).toEqual(["changed a: new -> uid-a@1"]);
  });

  test("of a known object is reported with the state before", () => {
    objects.change(object("a", "1"));
    objects.change(object("a", "2"));
    expect(objects.get("n/a")).toEqual(object("a", "2"));
    expect(events.slice(1)).toEqual(["changed a: uid-a@1 -> uid-a@2"]);
  });

  test("to the version that is kept is not reported", () => {
    objects.change(object("a", "1"));
    objects.change(object("a", "1"));
    expect(events).toEqual(["changed a: new -> uid-a@1"]);
  });

  test("to another uid is reported as a deletion and a new object, even with the same version", () => {
    objects.change(object("a", "1"));
    objects.change(object("a", "1", "other"));
    expect(objects.get("n/a")).toEqual(object("a", "1", "other"));
    expect(events.slice(1)).toEqual(["deleted a: uid-a@1", "changed a: new -> other@1"]);
  });
});

describe("a deletion", () => {
  test("is reported with the state that came with it", () => {
    objects.change(object("a", "1"));
    objects.delete(object("a", "2"));
    expect(objects.get("n/a")).toBeUndefined();
    expect(events.slice(1)).toEqual(["deleted a: uid-a@2"]);
  });

  test("of an unknown object is not reported", () => {
    objects.delete(object("a", "1"));
    expect(events).toEqual([]);
  });
});

describe("a relist", () => {
  test("runs from its begin to its end", () => {
    expect(objects.isRelisting).toBe(false);
    objects.beginRelist();
    expect(objects.isRelisting).toBe(true);
    objects.endRelist();
    expect(objects.isRelisting).toBe(false);
  });

  test("that did not begin has no keys at its end", () => {
    expect(objects.endRelist()).toBeUndefined();
  });

  test("has the keys that were seen while it ran, unchanged objects too, without deleted ones", () => {
    for (const name of ["before", "same"]) objects.change(object(name, "1"));
    objects.beginRelist();
    objects.change(object("same", "1"));
    objects.change(object("new", "1"));
    objects.change(object("short", "1"));
    objects.delete(object("short", "2"));
    expect(objects.endRelist()).toEqual(new Set(["n/same", "n/new"]));
  });

  test("that begins again forgets the keys seen before", () => {
    objects.beginRelist();
    objects.change(object("a", "1"));
    objects.beginRelist();
    expect(objects.endRelist()).toEqual(new Set());
  });
});

test("deleteExcept deletes the objects of all other keys with their last state", () => {
  for (const name of ["a", "b", "c"]) objects.change(object(name, "1"));
  events = [];
  objects.deleteExcept(new Set(["n/b"]));
  expect([...objects.values()]).toEqual([object("b", "1")]);
  expect(events).toEqual(["deleted a: uid-a@1", "deleted c: uid-c@1"]);
});
