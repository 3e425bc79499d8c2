import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { References } from "../../access/providers/references.ts";
import type { Spokes } from "../../access/spokes/spokes.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { Component } from "../../api/component.ts";
import type { Preparations } from "../../installation/desired.ts";
import type { SpokeNamespaceMode } from "../../installation/installation-namespace.ts";
import type { Releases } from "../../render/release/releases.ts";
import type { RenderOptions } from "../../render/render.ts";
import type { EventRecorder } from "../events.ts";
import type { Guards } from "../guard/guards.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ObservedChange } from "../observe/observation.ts";
import type { TokenSharers } from "../status/component-events.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import type { ClusterClaims } from "../target/cluster-claims.ts";
import type { TargetConnections } from "../target/target-connection.ts";
import type { Installation } from "./installation.ts";
import type { Neighbours } from "./neighbours.ts";

/** What the reconciles of all components share. */
export interface ReconcileDeps {
  /** For components, their status and Events. */
  readonly hub: KubeClient;
  /** The hub as a target. A connection of its own, so that an install on the hub delays no other request. */
  readonly hubAsTarget: KubeClient;
  /** UID of the hub's kube-system namespace. */
  readonly hubId: string;
  readonly spokes: Pick<Spokes, "acquire" | "state">;
  /** Absent: every component may use every ClusterProfile. */
  readonly references?: Pick<References, "policy">;
  readonly releases: Releases;
  /** Options of rendering that are the same for all components. */
  readonly rendering: Pick<RenderOptions, "environment" | "manifestText">;
  /** Decides the namespace of new installations on spokes. */
  readonly spokeNamespace: SpokeNamespaceMode;
  readonly connections: TargetConnections;
  readonly preparations: Preparations;
  readonly neighbours: Neighbours;
  /** Absent: one process serves all clusters. */
  readonly clusterClaims?: Pick<ClusterClaims, "claim">;
  readonly components: { all(): Iterable<Component>; of(target: string): Iterable<Component> };
  readonly events: Pick<EventRecorder, "record" | "audit">;
  readonly metrics: Pick<
    Metrics,
    "countFailure" | "countHubFailure" | "countObjects" | "countRepairs"
  >;
  /** Absent: shared credentials are not reported. */
  readonly tokens?: TokenSharers;
  readonly guards: Guards;
  /** CRDs get the label of the guard. */
  readonly guardsCrds: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds between two attempts for a component that is not ready. */
  readonly pollMs: number;
  /** Called for each change on the target of a component. */
  readonly onChange: (component: Component, change: ObservedChange) => void;
}

/** A component and what this process remembers of it. */
export interface Subject {
  readonly component: Component;
  readonly installation: Installation;
}

/** One run of a reconcile or of a removal for one component, with the only writer of its status. */
export interface Attempt extends Subject {
  readonly writer: StatusWriter;
}
