import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { timestampOf } from "../../api/conditions.ts";
import { type FleetSet, revisionAnnotations, setLabels } from "../../api/fleet-set.ts";
import { nameId } from "../../api/keys.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { Records, RevisionMark, SetFacts } from "../../sets/facts.ts";
import { revisionObject } from "../../sets/revision-object.ts";
import { type RecordEntry, withEntries } from "../../sets/status/record-entry.ts";
import type { RecentWrites } from "./recent-writes.ts";
import { ownWrite } from "./refused-write.ts";

export interface RevisionWriterOptions {
  readonly client: Pick<KubeClient, "create" | "patch" | "remove">;
  readonly clock: Clock;
  readonly recent: Pick<RecentWrites<KubeObject>, "add" | "delete">;
}

const resource = knownResource("apps/v1", "ControllerRevision");
const { completed, digest, failedAt, retriedAt } = revisionAnnotations;

/** Writes the ControllerRevisions of sets. They hold the progress of a rollout, so that a new leader continues it. */
export class RevisionWriter {
  readonly #options: RevisionWriterOptions;

  constructor(options: RevisionWriterOptions) {
    this.#options = options;
  }

  /** Writes one mark. Throws as the client does, and OwnWriteRefusedError. */
  async mark(
    { set, revisions }: Pick<SetFacts, "set" | "revisions">,
    mark: RevisionMark,
    signal: AbortSignal,
  ): Promise<void> {
    const known = revisions.find(({ name }) => name === mark.name);
    const { entries = [] } = mark;
    if (mark.kind === "begin" && known === undefined) return this.#begin(set, mark, signal);
    const record = entries.length === 0 ? {} : recordAnnotation(known?.record ?? [], entries);
    const annotations = { ...record, ...this.#annotationsOf(mark) };
    // A revision that begins again was rolled out before, and is wanted again.
    const begun = mark.kind === "begin" ? { revision: mark.number } : {};
    const isMarked = Object.keys(annotations).length > 0;
    const patch = { ...begun, ...(isMarked ? { metadata: { annotations } } : {}) };
    await this.#patch(set, { name: mark.name, patch }, signal);
  }

  /** Adds entries to the record of a revision. Throws as `mark` does. */
  async record(
    { set, revisions }: Pick<SetFacts, "set" | "revisions">,
    { name, entries }: Records,
    signal: AbortSignal,
  ): Promise<void> {
    if (entries.length === 0) return;
    const record = revisions.find((one) => one.name === name)?.record ?? [];
    const annotations = recordAnnotation(record, entries);
    await this.#patch(set, { name, patch: { metadata: { annotations } } }, signal);
  }

  /** Deletes the oldest revisions beyond the limit that no component has and no rollout needs. */
  async prune({ set, revisions, children }: SetFacts, signal: AbortSignal): Promise<void> {
    const { currentRevision, updateRevision } = set.status ?? {};
    const used = new Set([
      currentRevision,
      updateRevision,
      ...children.map(({ metadata }) => metadata.labels?.[setLabels.revision]),
    ]);
    const old = revisions
      .filter(({ name }) => !used.has(name))
      .toSorted((a, b) => b.number - a.number)
      .slice(set.spec.revisionHistoryLimit);
    for (const { name } of old) {
      const answer = this.#options.client.remove(revisionRef(set, name), {}, signal);
      await ownWrite("old revision", answer);
      this.#forget(set, name);
    }
  }

  async #begin(
    set: FleetSet,
    mark: Extract<RevisionMark, { kind: "begin" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#options;
    const { name, number, entries = [] } = mark;
    const plain = revisionObject(set, mark);
    const record = entries.length === 0 ? {} : recordAnnotation([], entries);
    const object = { ...plain, metadata: { ...plain.metadata, annotations: record } };
    const { namespace } = set.metadata;
    try {
      const answer = client.create({ resource, namespace }, object, {}, signal);
      this.#remember(await ownWrite("revision of the set", answer));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error;
      // A deleted set of this name left the revision, with marks that say nothing about this set.
      const { ownerReferences } = object.metadata;
      const annotations = {
        [completed]: null,
        [digest]: null,
        [failedAt]: null,
        [retriedAt]: null,
        ...record,
      };
      const patch = { revision: number, metadata: { ownerReferences, annotations } };
      await this.#patch(set, { name, patch }, signal);
    }
  }

  #annotationsOf(mark: RevisionMark): Readonly<Record<string, string | null>> {
    if (mark.kind === "begin") return {};
    const now = timestampOf(this.#options.clock.date());
    if (mark.kind === "digest") return { [digest]: mark.digest };
    if (mark.kind === "complete") return { [completed]: String(mark.number) };
    if (mark.kind === "fail") return { [failedAt]: now };
    return { [failedAt]: null, [retriedAt]: now };
  }

  async #patch(
    set: FleetSet,
    { name, patch }: { readonly name: string; readonly patch: Readonly<Record<string, unknown>> },
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const answer = this.#options.client.patch(revisionRef(set, name), patch, {}, signal);
      this.#remember(await ownWrite("revision of the set", answer));
    } catch (error) {
      // Deleted before the watch showed it. Remembered, it would be patched again and again.
      if (error instanceof ApiError && error.status === 404) this.#forget(set, name);
      throw error;
    }
  }

  #forget({ metadata: { namespace } }: FleetSet, name: string): void {
    this.#options.recent.delete(nameId({ namespace, name }));
  }

  #remember(object: KubeObject): void {
    const { recent, clock } = this.#options;
    recent.add(nameId(object.metadata), object, clock.now());
  }
}

function recordAnnotation(
  record: readonly RecordEntry[],
  entries: readonly RecordEntry[],
): Readonly<Record<string, string>> {
  return { [revisionAnnotations.record]: JSON.stringify(withEntries(record, entries)) };
}

function revisionRef({ metadata }: FleetSet, name: string): ObjectRef {
  return { resource, namespace: metadata.namespace, name };
}
