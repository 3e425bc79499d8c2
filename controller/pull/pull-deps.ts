import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { Component } from "../../api/component.ts";
import { managedClusterOf } from "../../api/delivery.ts";
import type { Log } from "../log.ts";
import type { ReconcileDeps } from "../reconcile/reconcile-deps.ts";
import { WorkWatch } from "./work-watch.ts";

/** How the delivery of a new component without the annotation is chosen. */
export const deliveryModes = ["Push", "Auto"] as const;

export type DeliveryMode = (typeof deliveryModes)[number];

export interface PullSettings {
  readonly mode: DeliveryMode;
  /** Image of the controller on spokes. */
  readonly agentImage: string;
  /** Namespaces whose ClusterProfiles are written by Open Cluster Management alone, so that their clusters may pull. */
  readonly namespaces: readonly string[];
}

/** What pull delivery needs beside what every attempt needs. */
export interface PullDeps extends ReconcileDeps {
  /** Absent: nothing can be pulled. */
  readonly pull?: PullSettings & { readonly watch: Pick<WorkWatch, "open"> };
}

interface PullSurroundings {
  readonly clock: Clock;
  readonly client: Pick<KubeClient, "list" | "watch">;
  readonly log: Log;
  /** Requeues chosen components. */
  readonly requeue: (isChosen: (component: Component) => boolean) => void;
}

/** Prepares pull delivery. Nothing is asked of the hub before the first pulled component. */
export function openPull(
  settings: PullSettings | undefined,
  { requeue, ...deps }: PullSurroundings,
  signal: AbortSignal,
): Pick<PullDeps, "pull"> {
  if (settings === undefined) return {};
  const onChange = (cluster: string): void =>
    requeue((component) => managedClusterOf(component) === cluster);
  return { pull: { ...settings, watch: new WorkWatch({ ...deps, onChange }, signal) } };
}
