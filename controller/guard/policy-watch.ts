import type { KubeClient } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { logWatchBug } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { canonicalJson, listAt, recordAt, textAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import type { Log } from "../log.ts";
import { policyKinds } from "./policy-objects.ts";

// More than our policies have. They are remembered.
const mostWarnings = 100;

export interface PolicyWatchOptions {
  readonly clock: Clock;
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly hubId: string;
  readonly log: Log;
  /** A policy or binding is gone, or differs from its noted state. */
  readonly onDisturbed: () => void;
  /** A watch was interrupted: the API server may have been started anew, with other settings. */
  readonly onInterrupted: () => void;
}

/** Watches the policies and bindings of one hub on one cluster, with two watches and no other request. */
export class PolicyWatch implements Disposable {
  readonly #reflectors: readonly Reflector[];
  readonly #noted = new Map<string, string>();
  readonly #warnings = new Set<string>();

  /** `objects`: the policies and bindings as they were last read or written. */
  constructor(options: PolicyWatchOptions, objects: readonly KubeObject[]) {
    this.note(objects);
    const { client, clock, hubId, log, onDisturbed, onInterrupted } = options;
    const labelSelector = `${anchorAnnotations.hubId}=${hubId}`;
    this.#reflectors = policyKinds.map(
      (resource) =>
        new Reflector(
          {
            client,
            clock,
            ref: { resource, labelSelector },
            maxBackoffMs: 5_000,
            keep: (object) => {
              this.#logWarnings(object, log);
              const { managedFields: _, ...metadata } = object.metadata;
              return { apiVersion: object.apiVersion, kind: object.kind, metadata };
            },
          },
          {
            onChange: (object) => {
              const noted = this.#noted.get(objectId(keyOf(object)));
              if (noted !== undefined && noted !== stateOf(object)) onDisturbed();
            },
            onDelete: (object) => {
              if (this.#noted.has(objectId(keyOf(object)))) onDisturbed();
            },
            onSynced: () => {
              if (this.#isAnyMissing()) onDisturbed();
            },
            onInterrupted,
            onError: (err) => log.debug({ kind: resource.kind, err }, "A watch of guards failed"),
            onBug: logWatchBug(log, resource.kind),
          },
        ),
    );
  }

  /** Replaces the noted states. */
  note(objects: readonly KubeObject[]): void {
    this.#noted.clear();
    for (const object of objects) this.#noted.set(objectId(keyOf(object)), stateOf(object));
  }

  [Symbol.dispose](): void {
    for (const reflector of this.#reflectors) reflector[Symbol.dispose]();
  }

  /** Logs what the type checker of the cluster warns about. It checks a part of a policy only, so that a warning is no failure. */
  #logWarnings(policy: KubeObject, log: Log): void {
    const warnings = listAt(recordAt(policy, "status", "typeChecking"), "expressionWarnings");
    for (const entry of warnings) {
      const warning = foreignText(textAt(recordAt(entry), "warning") ?? "", 500);
      if (this.#warnings.has(warning) || this.#warnings.size >= mostWarnings) continue;
      this.#warnings.add(warning);
      const fields = { policy: policy.metadata.name, warning };
      log.warn(fields, "The cluster's type checker warns about a guard");
    }
  }

  #isAnyMissing(): boolean {
    if (!this.#reflectors.every(({ isSynced }) => isSynced)) return false;
    const live = this.#reflectors.flatMap((reflector) => [...reflector.values()]);
    const liveIds = new Set(live.map((object) => objectId(keyOf(object))));
    return [...this.#noted.keys()].some((id) => !liveIds.has(id));
  }
}

/** Equal for states that protect equally. Every change of a spec increases the generation. */
function stateOf({ metadata }: KubeObject): string {
  const { uid, generation, labels, deletionTimestamp } = metadata;
  return canonicalJson({ uid, generation, labels, deleting: deletionTimestamp !== undefined });
}
