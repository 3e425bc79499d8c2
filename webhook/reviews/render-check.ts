import type { Component } from "../../api/component.ts";

/** What a release, as this component would have it, is made of: names that fields of the spec go by. */
export interface ReleaseNames {
  /** Names of Deployments and StatefulSets and generateNames of Jobs, each with its containers. */
  readonly workloads: ReadonlyMap<string, readonly string[]>;
  readonly services: ReadonlySet<string>;
  readonly podDisruptionBudgets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
}

/** One thing that the controller would stop at, with the field that is the cause. */
export interface RenderProblem {
  readonly path: string;
  readonly message: string;
}

/** What the controller would say about a component, as far as it can be known without the cluster and without fetching anything. */
export interface RenderFindings {
  /** About the version and the way to it. */
  readonly version: readonly RenderProblem[];
  /** About `spec.patches`. */
  readonly patches: readonly RenderProblem[];
  /** About the rest. */
  readonly others: readonly RenderProblem[];
  /** The version that would be installed, and the newest patch of its minor; undefined when they are not known. */
  readonly target: string | undefined;
  readonly newestPatch: string | undefined;
  /** Undefined when they are not known, for example because the manifests are the user's own. */
  readonly names: ReleaseNames | undefined;
}

/** Renders without a cluster. Never rejects because of the component. */
export type RenderCheck = (component: Component, signal: AbortSignal) => Promise<RenderFindings>;
