import type { Component } from "../../api/component.ts";
import { describe } from "../../api/kubernetes.ts";

/** The cluster that a component is for, at the beginning of a message. */
export function clusterNameOf({ spec }: Component): string {
  const ref = spec?.clusterProfileRef;
  return ref === undefined ? "The hub" : describe({ kind: "ClusterProfile", ...ref });
}
