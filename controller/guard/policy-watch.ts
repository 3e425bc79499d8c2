import type { KubeClient } from "../../access/kube/kube-client.ts";
import { Reflector } from "../../access/kube/reflector.ts";
import { canonicalJson, listAt, recordAt, textAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { identityOf, keyOf, type KubeObject } from "../../api/kubernetes.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import type { Log } from "../log.ts";
import { policyKinds } from "./policy-objects.ts";

export interface PolicyWatchOptions {
  readonly client: Pick<KubeClient, "watch" | "list">;
  readonly hubId: string;
  readonly log: Log;
  /** An object of the guards is gone, or is not as it was noted. */
  readonly onDisturbed: () => void;
}

/** Watches the policies and bindings of one hub on one cluster: two watches, and no other request. */
export class PolicyWatch implements Disposable {
  readonly #reflectors: readonly Reflector[];
  readonly #noted = new Map<string, string>();
  readonly #warnings = new Set<string>();

  /** `objects` as they were last read or written. */
  constructor(options: PolicyWatchOptions, objects: readonly KubeObject[]) {
    this.note(objects);
    const { client, hubId, log, onDisturbed } = options;
    const labelSelector = `${anchorAnnotations.hubId}=${hubId}`;
    this.#reflectors = policyKinds.map(
      (resource) =>
        new Reflector(
          {
            client,
            ref: { resource, labelSelector },
            maxBackoffMs: 5_000,
            keep: (object) => {
              this.#tellWarnings(object, log);
              const { managedFields: _, ...metadata } = object.metadata;
              return { apiVersion: object.apiVersion, kind: object.kind, metadata };
            },
          },
          {
            onChange: (object) => {
              const noted = this.#noted.get(identityOf(keyOf(object)));
              if (noted !== undefined && noted !== lookOf(object)) onDisturbed();
            },
            onDelete: (object) => {
              if (this.#noted.has(identityOf(keyOf(object)))) onDisturbed();
            },
            onSynced: () => {
              if (!this.#areAllThere()) onDisturbed();
            },
            onError: (err) => log.debug({ kind: resource.kind, err }, "A watch of guards failed"),
          },
        ),
    );
  }

  /** Takes in what was read or written. */
  note(objects: readonly KubeObject[]): void {
    this.#noted.clear();
    for (const object of objects) this.#noted.set(identityOf(keyOf(object)), lookOf(object));
  }

  [Symbol.dispose](): void {
    for (const reflector of this.#reflectors) reflector[Symbol.dispose]();
  }

  /** What the type checker of the cluster says, which looks at a part of a policy only, is for people. */
  #tellWarnings(policy: KubeObject, log: Log): void {
    for (const one of listAt(recordAt(policy, "status", "typeChecking"), "expressionWarnings")) {
      const warning = foreignText(textAt(recordAt(one), "warning") ?? "", 500);
      if (this.#warnings.has(warning)) continue;
      this.#warnings.add(warning);
      const fields = { policy: policy.metadata.name, warning };
      log.warn(fields, "The cluster's type checker warns about a guard");
    }
  }

  #areAllThere(): boolean {
    if (!this.#reflectors.every(({ isSynced }) => isSynced)) return true;
    const seen = this.#reflectors.flatMap((reflector) => [...reflector.values()]);
    const there = new Set(seen.map((object) => identityOf(keyOf(object))));
    return [...this.#noted.keys()].every((id) => there.has(id));
  }
}

/** Equal for states that protect equally: every change of a spec counts up the generation. */
function lookOf({ metadata }: KubeObject): string {
  const { uid, generation, labels, deletionTimestamp } = metadata;
  return canonicalJson({ uid, generation, labels, isGoing: deletionTimestamp !== undefined });
}
