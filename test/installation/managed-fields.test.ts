import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  type FieldSet,
  fieldsAt,
  hasField,
  isEmpty,
  stepsAt,
  unionOfFields,
  withoutFields,
} from "../../installation/managed-fields.ts";

/** Members of a set as paths, which is what a set means. */
function membersOf(set: FieldSet, path = ""): readonly string[] {
  return Object.entries(set).flatMap(([step, below]) => {
    if (step === ".") return [path];
    const inner: FieldSet = Object(below);
    const here = `${path}/${step}`;
    return isEmpty(inner) ? [here] : membersOf(inner, here);
  });
}

function setOf(paths: readonly (readonly string[])[]): FieldSet {
  return paths
    .map((path) => path.reduceRight<FieldSet>((below, step) => ({ [step]: below }), {}))
    .reduce(unionOfFields, {});
}

const steps = fc.constantFrom("f:spec", "f:data", 'k:{"name":"a"}', 'k:{"name":"b"}', "f:x");
const sets = fc.array(fc.array(steps, { minLength: 1, maxLength: 4 }), { maxLength: 8 }).map(setOf);

describe("a set of fields", () => {
  test("has in a union the members of both, and without another set those that it has not", () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const [left, right] = [new Set(membersOf(a)), new Set(membersOf(b))];
        expect(new Set(membersOf(unionOfFields(a, b)))).toEqual(left.union(right));
        expect(new Set(membersOf(withoutFields(a, b)))).toEqual(left.difference(right));
        expect(withoutFields(a, a)).toEqual({});
      }),
    );
  });

  test("is the same object when nothing is taken from it", () => {
    const set = setOf([["f:spec", "f:replicas"], ["f:data"]]);
    expect(withoutFields(set, setOf([["f:spec", "f:selector"]]))).toBe(set);
    expect(withoutFields(set, {})).toBe(set);
  });

  test("is read by paths in which a star is any one step", () => {
    const set = setOf([
      ["f:webhooks", 'k:{"name":"a"}', "f:rules"],
      ["f:webhooks", 'k:{"name":"b"}', "f:rules"],
      ["f:webhooks", 'k:{"name":"b"}'],
    ]);
    expect(membersOf(fieldsAt(set, ["f:webhooks", "*", "f:rules"]))).toEqual([
      '/f:webhooks/k:{"name":"a"}/f:rules',
      '/f:webhooks/k:{"name":"b"}/f:rules',
    ]);
    expect(hasField(set, ["f:webhooks", "*", "f:clientConfig"])).toBe(false);
    expect(stepsAt(set, ["f:webhooks"])).toEqual(['k:{"name":"a"}', 'k:{"name":"b"}']);
    expect(stepsAt(set, ["f:none"])).toEqual([]);
  });
});
