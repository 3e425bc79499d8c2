import type { Component, ComponentStatus } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { componentCondition } from "../../sets/component-condition.ts";
import { installedContent, saysContent } from "./stamped-content.ts";

/** How the cluster of a component takes a version: after a while it is ready, never ready, or refuses it for good. */
export type Fate = "ready" | "stuck" | "invalid" | "dark";

/** Whether a component says already how its cluster took its spec. */
export function says(child: Component, fate: Fate): boolean {
  const { status, metadata } = child;
  const isObserved = status?.observedGeneration === metadata.generation && saysContent(child);
  const isReady = conditionOf(status?.conditions, "Ready")?.status === "True";
  const isDark = componentCondition(child, "TargetClusterResolved").status === "False";
  const isSame = isReady === (fate === "ready") && isDark === (fate === "dark");
  // What is said of a dark cluster is of no spec.
  return isSame && (isObserved || isDark);
}

/** What a component says after it has taken its spec. */
export function statusAfter(
  { metadata, spec, status }: Component,
  fate: Fate,
  at: string,
): ComponentStatus {
  const failures: Readonly<Partial<Record<Fate, Condition>>> = {
    dark: {
      type: "TargetClusterResolved",
      status: "False",
      reason: "SpokeUnreachable",
      message: "dark",
    },
    invalid: {
      type: "InstallSucceeded",
      status: "False",
      reason: "ManifestInvalid",
      message: "No",
    },
    stuck: {
      type: "DeploymentsAvailable",
      status: "False",
      reason: "NotReady",
      message: "webhook",
    },
  };
  const failure = failures[fate];
  const ready: Condition = { type: "Ready", status: failure === undefined ? "True" : "False" };
  const said = failure === undefined ? [ready] : [ready, failure];
  const installed = failure === undefined ? spec?.version : status?.version;
  return {
    observedGeneration: metadata.generation ?? 0,
    conditions: said.map((condition) => ({ ...condition, lastTransitionTime: at })),
    version: installed ?? "",
    ...installedContent(metadata),
  };
}
