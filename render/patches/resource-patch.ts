import type { Component } from "../../api/component.ts";

/** One entry of `spec.patches`. */
export type ResourcePatch = NonNullable<NonNullable<Component["spec"]>["patches"]>[number];
