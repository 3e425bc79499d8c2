import type { FromSchema } from "json-schema-to-ts";

import type { eventingSpec } from "./eventing-spec.ts";
import type { servingSpec } from "./serving-spec.ts";

/**
 * A schema's type as code uses it: deeply read-only, and without the index signature that FromSchema gives to every object
 * that does not forbid other fields (a CRD cannot forbid them; the API server prunes them).
 */
type Exact<T> = T extends readonly (infer Item)[]
  ? readonly Exact<Item>[]
  : T extends object
    ? [keyof Named<T>] extends [never]
      ? { readonly [K in keyof T]: Exact<T[K]> }
      : { readonly [K in keyof Named<T>]: Exact<Named<T>[K]> }
    : T;

type Named<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

/** `spec` of KnativeServing as the API server admits it. Spec: knative-operator.md 1. */
export type KnativeServingSpec = Exact<FromSchema<typeof servingSpec>>;

/** `spec` of KnativeEventing as the API server admits it. Spec: knative-operator.md 1. */
export type KnativeEventingSpec = Exact<FromSchema<typeof eventingSpec>>;
