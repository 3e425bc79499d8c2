import type { KubeClient } from "../../access/kube/kube-client.ts";
import { KeepingReflector } from "../../access/kube/reflector.ts";
import { logWatchBug } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { conditionOf } from "../../api/conditions.ts";
import {
  availableCondition,
  type ManagedCluster,
  managedClusterApiVersion,
  workApiVersion,
} from "../../api/delivery.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { Log } from "../log.ts";
import { workLabel } from "./works.ts";

interface WorkWatchOptions {
  readonly clock: Clock;
  readonly client: Pick<KubeClient, "list" | "watch">;
  readonly log: Log;
  /** A work for a ManagedCluster changed, or whether its agent reports. */
  readonly onChange: (cluster: string) => void;
}

/** Tells when the works of the fleet or the availability of their clusters change. Keeps little of them: an attempt reads the objects of its component itself. */
export class WorkWatch {
  readonly #options: WorkWatchOptions;
  readonly #signal: AbortSignal;
  #isOpen = false;

  constructor(options: WorkWatchOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Opens the watches with the first pulled component, so that a hub without Open Cluster Management is never asked. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const { client, clock, log, onChange } = this.#options;
    const onError = (err: unknown): void => log.warn({ err }, "Cannot watch the works on the hub");
    const toldWork = ({ metadata: { namespace = "" } }: Identity): void => onChange(namespace);
    const labelSelector = `${workLabel.key}=${workLabel.value}`;
    const works = { resource: knownResource(workApiVersion, "ManifestWork"), labelSelector };
    // Both run until the signal aborts.
    void new KeepingReflector(
      { client, clock, ref: works, keep: identityOf },
      { onChange: toldWork, onDelete: toldWork, onError, onBug: logWatchBug(log, "ManifestWork") },
      this.#signal,
    );
    const clusters = { resource: knownResource(managedClusterApiVersion, "ManagedCluster") };
    void new KeepingReflector(
      { client, clock, ref: clusters, keep: withAvailability },
      {
        // Other changes, such as of the capacity, are frequent and of no interest.
        onChange: (cluster, before) => {
          if (cluster.available !== before?.available) onChange(cluster.metadata.name);
        },
        onDelete: ({ metadata: { name } }) => onChange(name),
        onError,
        onBug: logWatchBug(log, "ManagedCluster"),
      },
      this.#signal,
    );
  }
}

type Identity = Pick<KubeObject, "metadata">;

function identityOf({ metadata }: KubeObject): Identity {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    metadata: { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) },
  };
}

function withAvailability(object: ManagedCluster): Identity & { readonly available?: string } {
  const available = conditionOf(object.status?.conditions, availableCondition)?.status;
  return { ...identityOf(object), ...(available === undefined ? {} : { available }) };
}
