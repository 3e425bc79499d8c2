import type { ComponentKind } from "../../../../api/component.ts";

/** The short names by which arguments name kinds. */
export const shortKinds: Readonly<Record<ComponentKind, string>> = {
  KnativeServing: "ks",
  KnativeEventing: "ke",
};
