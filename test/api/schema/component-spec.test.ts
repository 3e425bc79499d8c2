import type { FromSchema } from "json-schema-to-ts";
import { describe, expect, expectTypeOf, test } from "vitest";

import type { ComponentStatus } from "../../../api/component.ts";
import type { componentStatus } from "../../../api/schema/component-crd.ts";
import type {
  KnativeEventingSpec,
  KnativeServingSpec,
} from "../../../api/schema/component-spec.ts";

describe("the types of the specs", () => {
  test("are exact, read-only and optional as the schemas say", () => {
    expectTypeOf<KnativeServingSpec["version"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<KnativeServingSpec["clusterProfileRef"]>().toEqualTypeOf<
      { readonly name: string; readonly namespace: string } | undefined
    >();
    expectTypeOf<KnativeServingSpec["config"]>().toEqualTypeOf<
      { readonly [name: string]: { readonly [key: string]: string } } | undefined
    >();
    expectTypeOf<KnativeServingSpec["high-availability"]>().toEqualTypeOf<
      { readonly replicas: number } | undefined
    >();
    expectTypeOf<KnativeEventingSpec>().not.toHaveProperty("ingress");
    expectTypeOf<KnativeServingSpec>().not.toHaveProperty("source");
    expectTypeOf<{ nonsense: string }>().not.toExtend<KnativeServingSpec>();
    // An empty spec is a spec: nothing is required at the top.
    const empty: KnativeServingSpec & KnativeEventingSpec = {};
    expect(empty).toEqual({});
  });

  test("agree with the status that code writes", () => {
    type Written = FromSchema<typeof componentStatus>;
    expectTypeOf<NonNullable<ComponentStatus["version"]>>().toEqualTypeOf<
      NonNullable<Written["version"]>
    >();
    const names: readonly (keyof ComponentStatus)[] = ["conditions", "manifests", "version"];
    const known: readonly (keyof Written)[] = names;
    expect(known).toBe(names);
  });
});
