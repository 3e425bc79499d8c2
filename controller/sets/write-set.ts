import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { isSameJson } from "../../api/fields.ts";
import { type FleetSet, type FleetSetStatus, steering } from "../../api/fleet-set.ts";
import { setId } from "../../api/keys.ts";
import { knownResource } from "../../api/resources.ts";
import type { RecentWrites } from "./recent-writes.ts";
import { ownWrite } from "./refused-write.ts";
import { isFleetSet } from "./set-caches.ts";

/** Keeps a set until its components are removed or left as orphans. Spec: sets.md 5. */
const setFinalizer = "knfleet.dev/fleet-set";

/** Prefixes of the annotations that hold for one rollout, except for its end. */
const ofOneRollout: readonly string[] = [
  steering.approve,
  steering.skipClusters,
  steering.skipStages,
];

export interface SetWriterOptions {
  readonly client: Pick<KubeClient, "patch" | "replace">;
  readonly clock: Clock;
  readonly recent: RecentWrites<FleetSet>;
}

/** Where a set is on the hub. */
function setRefOf({ apiVersion, kind, metadata }: FleetSet): ObjectRef {
  const { namespace, name } = metadata;
  return { resource: knownResource(apiVersion, kind), namespace, name };
}

/** Names of the annotations of a set that begin so. */
function namesOf({ metadata }: FleetSet, prefixes: readonly string[]): readonly string[] {
  return Object.keys(metadata.annotations ?? {}).filter((name) =>
    prefixes.some((prefix) => name.startsWith(prefix)),
  );
}

/** Writes sets: their finalizer and their status. Throws as the client does, 409 when the set has changed meanwhile, and OwnWriteRefusedError. */
export class SetWriter {
  readonly #options: SetWriterOptions;

  constructor(options: SetWriterOptions) {
    this.#options = options;
  }

  /** The set with its finalizer. */
  async hold(set: FleetSet, signal: AbortSignal): Promise<FleetSet> {
    const finalizers = set.metadata.finalizers ?? [];
    if (finalizers.includes(setFinalizer)) return set;
    return this.#finalize(set, [...finalizers, setFinalizer], signal);
  }

  /** Lets a deleted set go. */
  async release(set: FleetSet, signal: AbortSignal): Promise<void> {
    const finalizers = set.metadata.finalizers ?? [];
    const others = finalizers.filter((one) => one !== setFinalizer);
    if (others.length < finalizers.length) await this.#finalize(set, others, signal);
  }

  /** Takes the wish to try again off a set, once it is on its revision, and the wish to end the rollout. */
  async dropRetry(set: FleetSet, signal: AbortSignal): Promise<void> {
    const { resourceVersion } = set.metadata;
    const annotations = { [steering.retry]: null, [steering.abort]: null };
    await this.#patch(set, { resourceVersion, annotations }, signal);
  }

  /** Removes from a set the annotations of one rollout: approvals, skipped clusters and stages. Spec: sets.md R9. */
  async dropApprovals(set: FleetSet, signal: AbortSignal): Promise<void> {
    await this.#drop(set, namesOf(set, ofOneRollout), signal);
  }

  /** Takes off a set the wish to end the rollout. */
  async dropAbort(set: FleetSet, signal: AbortSignal): Promise<void> {
    await this.#drop(set, namesOf(set, [steering.abort]), signal);
  }

  /** Removes deeds from a set, once they are in the record of the revision. Only the deeds of `recorded`, and not later ones. */
  async dropDeeds(set: FleetSet, recorded: FleetSet, signal: AbortSignal): Promise<void> {
    const { annotations = {} } = set.metadata;
    const isRecorded = (name: string) =>
      recorded.metadata.annotations?.[name] === annotations[name];
    await this.#drop(set, namesOf(set, [steering.did]).filter(isRecorded), signal);
  }

  async #drop(set: FleetSet, given: readonly string[], signal: AbortSignal): Promise<void> {
    const { resourceVersion } = set.metadata;
    if (given.length === 0) return;
    const dropped = Object.fromEntries(given.map((name) => [name, null]));
    await this.#patch(set, { resourceVersion, annotations: dropped }, signal);
  }

  /** Removes the acceptance of a selection from a set: a later shrinking is suspicious again. Spec: sets.md R11. */
  async dropAcceptance(set: FleetSet, signal: AbortSignal): Promise<FleetSet> {
    const { resourceVersion } = set.metadata;
    const annotations = { [steering.acceptSelection]: null };
    return this.#patch(set, { resourceVersion, annotations }, signal);
  }

  /** Writes a status that differs from the stored one. */
  async report(set: FleetSet, status: FleetSetStatus, signal: AbortSignal): Promise<void> {
    if (isSameJson(set.status ?? {}, status)) return;
    const options = { subresource: "status" } as const;
    const { client } = this.#options;
    const answer = client.replace(setRefOf(set), { ...set, status }, options, signal);
    this.#remember(set, await ownWrite("status of the set", answer));
  }

  async #finalize(
    set: FleetSet,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<FleetSet> {
    const { resourceVersion } = set.metadata;
    return this.#patch(set, { resourceVersion, finalizers }, signal);
  }

  async #patch(set: FleetSet, metadata: object, signal: AbortSignal): Promise<FleetSet> {
    const answer = this.#options.client.patch(setRefOf(set), { metadata }, {}, signal);
    return this.#remember(set, await ownWrite("set", answer));
  }

  #remember(set: FleetSet, written: Awaited<ReturnType<KubeClient["patch"]>>): FleetSet {
    if (!isFleetSet(written)) return set;
    const { recent, clock } = this.#options;
    recent.add(setId(written), written, clock.now());
    return written;
  }
}
