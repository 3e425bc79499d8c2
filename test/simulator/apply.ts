import { createHash } from "node:crypto";

import { canonicalJson, isRecord, isSameJson } from "../../api/fields.ts";
import {
  groupOf,
  type Json,
  type JsonObject,
  type KubeObject,
  type ManagedFieldsEntry,
  type Manifest,
} from "../../api/kubernetes.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import { mergePatch } from "../../sets/desired-spec.ts";
import { StatusError } from "./answers.ts";
import {
  changedFields,
  fieldsOf,
  type FieldSet,
  isEmptySet,
  minus,
  pathsOf,
  plus,
  without,
} from "./field-sets.ts";
import type { Draft, StoredObject } from "./object-store.ts";

/** Equal values are kept once for all spokes, by their JSON. */
const shared = new Map<string, JsonObject>();

/** Who writes, and how: an entry of `managedFields` is of one manager and one operation. */
interface Writer {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
}

/** By whom and when an object is written, and what is kept of it. */
export interface Authorship {
  readonly manager: string;
  /** RFC 3339. */
  readonly time: string;
  /** All content is kept, and not only what the controller reads back. */
  readonly keepsAll: boolean;
}

/**
 * Server-side apply as a merge: what the manager applied before and does not any more goes, unless another manager has it; what it applies now replaces what is there, and is its own.
 * Lists are one value each. Returns the live object when nothing changes. Throws `StatusError` 409 where a field would be taken from another manager, unless it is forced.
 */
export function applied(
  live: StoredObject | undefined,
  manifest: Manifest,
  { isForced, ...authorship }: Authorship & { readonly isForced: boolean },
): Draft | StoredObject {
  const writer = { manager: authorship.manager, operation: "Apply" } as const;
  const { apiVersion, kind, metadata } = manifest;
  const content = contentOf(manifest);
  const fields = fieldsOf(content);
  const before = live === undefined ? {} : contentOf(live);
  const others = othersOf(live, writer);
  const taken = others.length === 0 ? {} : changedFields(content, before);
  if (!isForced) assertNotTaken(taken, others);
  const left = others.map((entry) => minusFields(entry, taken));
  const dropped = minus(ownEntryOf(live, writer)?.fieldsV1 ?? {}, fields);
  const gone = left.reduce((rest, { fieldsV1 = {} }) => minus(rest, fieldsV1), dropped);
  const merged = objectOf(mergePatch(without(before, gone), content));
  const kept = keepContent({ ...merged, apiVersion, kind }, authorship);
  const identity = { name: metadata.name ?? "", ...namespaceOf(metadata) };
  const draft = { ...kept, metadata: { ...metadataOf(merged), ...identity } };
  return changed(live, draft, { writer, fields, others: left, time: authorship.time });
}

/** A whole object in place of what is there, or a new one. Returns the live object when nothing changes. */
export function replaced(
  live: StoredObject | undefined,
  manifest: Manifest,
  authorship: Authorship,
): Draft | StoredObject {
  const { apiVersion, kind, metadata } = manifest;
  const content = contentOf(manifest);
  const identity = { name: metadata.name ?? "", ...namespaceOf(metadata) };
  const kept = keepContent({ ...content, apiVersion, kind }, authorship);
  const draft = { ...kept, metadata: { ...metadataOf(content), ...identity } };
  return changed(live, draft, updateOf(live, content, authorship));
}

/** A live object with a changed copy of it in its place. Returns the live object when nothing changes. */
export function patched(
  live: StoredObject,
  copy: Manifest,
  authorship: Authorship,
): Draft | StoredObject {
  const { apiVersion, kind } = live;
  const { managedFields } = copy.metadata;
  // Somebody who writes managedFields says who owns what.
  const owned = isSameJson(managedFields, live.metadata.managedFields)
    ? live
    : { ...live, metadata: { ...live.metadata, ...(managedFields && { managedFields }) } };
  const isContentKept =
    authorship.keepsAll || live.digest === undefined || wholeKinds.includes(kind);
  const written = contentOf(copy);
  const content = isContentKept
    ? keepContent({ ...written, apiVersion, kind }, authorship)
    : { ...live, metadata: copy.metadata };
  const identity = { name: live.metadata.name, ...namespaceOf(live.metadata) };
  const draft = { ...content, metadata: { ...metadataOf(written), ...identity } };
  return changed(owned, draft, updateOf(owned, written, authorship));
}

interface Write {
  readonly writer: Writer;
  /** What the writer owns after it. */
  readonly fields: FieldSet;
  /** What all others own after it. */
  readonly others: readonly ManagedFieldsEntry[];
  readonly time: string;
}

/** Whoever changes a field owns it alone; what is not changed stays with its owners. */
function updateOf(
  live: StoredObject | undefined,
  after: JsonObject,
  { manager, time }: Authorship,
): Write {
  const writer = { manager, operation: "Update" } as const;
  const before = live === undefined ? {} : contentOf(live);
  const [lost, won] = [changedFields(before, after), changedFields(after, before)];
  const own = plus(minus(ownEntryOf(live, writer)?.fieldsV1 ?? {}, lost), won);
  const others = othersOf(live, writer).map((entry) => minusFields(minusFields(entry, lost), won));
  return { writer, fields: own, others, time };
}

/** Throws the conflict that names each field of somebody else. */
function assertNotTaken(taken: FieldSet, others: readonly ManagedFieldsEntry[]): void {
  const causes = others.flatMap(({ manager = "", fieldsV1 = {} }) =>
    pathsOf(minus(taken, minus(taken, fieldsV1))).map((field) => {
      const message = `conflict with "${manager}"`;
      return { reason: "FieldManagerConflict", message, field };
    }),
  );
  if (causes.length === 0) return;
  const status = { status: 409, reason: "Conflict" };
  const many = causes.length === 1 ? "1 conflict" : `${causes.length} conflicts`;
  throw new StatusError(status, `Apply failed with ${many}`, causes);
}

function minusFields(entry: ManagedFieldsEntry, gone: FieldSet): ManagedFieldsEntry {
  const { fieldsV1 = {} } = entry;
  const left = minus(fieldsV1, gone);
  return isSameJson(left, fieldsV1) ? entry : { ...entry, fieldsV1: left };
}

function changed(live: StoredObject | undefined, draft: Draft, write: Write): Draft | StoredObject {
  const { writer, fields, others, time: now } = write;
  const own = ownEntryOf(live, writer);
  const isSame = live !== undefined && textOf(live) === textOf(draft);
  const isOwn = isSameJson(own?.fieldsV1 ?? {}, fields);
  if (isSame && (writer.operation === "Update" || isOwn)) return live;
  const entry: ManagedFieldsEntry = {
    ...writer,
    apiVersion: draft.apiVersion,
    fieldsType: "FieldsV1",
    fieldsV1: once(fields),
    time: now,
  };
  const managedFields = [...others, entry].filter(
    ({ fieldsV1, subresource }) => subresource !== undefined || !isEmptySet(fieldsV1 ?? {}),
  );
  const generation = hasGeneration(draft) ? { generation: nextGeneration(live, draft) } : {};
  const owners = managedFields.length === 0 ? {} : { managedFields };
  const metadata = { ...draft.metadata, ...lifeOf(live, now), ...generation, ...owners };
  const status = live?.["status"];
  return { ...draft, ...(status === undefined ? {} : { status }), metadata };
}

// Kinds without a spec that somebody has to act upon.
const groupsWithoutGeneration: readonly string[] = [
  "",
  "autoscaling",
  "coordination.k8s.io",
  "rbac.authorization.k8s.io",
];

function hasGeneration({ apiVersion, kind }: Draft): boolean {
  return !groupsWithoutGeneration.includes(groupOf(apiVersion)) && kind !== "ControllerRevision";
}

function nextGeneration(live: StoredObject | undefined, draft: Draft): number {
  if (live === undefined) return 1;
  const { generation = 1 } = live.metadata;
  return specTextOf(live) === specTextOf(draft) ? generation : generation + 1;
}

function lifeOf(live: StoredObject | undefined, now: string): Partial<KubeObject["metadata"]> {
  if (live === undefined) return { creationTimestamp: now };
  const { uid, creationTimestamp = now, deletionTimestamp } = live.metadata;
  return {
    uid,
    creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
}

function isOf(entry: ManagedFieldsEntry, { manager, operation }: Writer): boolean {
  const isWhole = (entry.subresource ?? "") === "";
  return isWhole && entry.manager === manager && entry.operation === operation;
}

function ownEntryOf(
  live: StoredObject | undefined,
  writer: Writer,
): ManagedFieldsEntry | undefined {
  return live?.metadata.managedFields?.find((entry) => isOf(entry, writer));
}

function othersOf(live: StoredObject | undefined, writer: Writer): readonly ManagedFieldsEntry[] {
  return (live?.metadata.managedFields ?? []).filter((entry) => !isOf(entry, writer));
}

// What the server says of an object, and nobody applies.
const serverFields: readonly string[] = [
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "generation",
  "managedFields",
  "name",
  "namespace",
];

/** What somebody may write on an object, its labels, annotations, owners and finalizers included. */
function contentOf(object: Manifest | StoredObject): JsonObject {
  const { apiVersion: _, kind: __, metadata, digest: ___, status: ____, ...rest } = asJson(object);
  const written = Object.entries(isJsonObject(metadata) ? metadata : {}).filter(
    ([field, value]) => !serverFields.includes(field) && !isEmpty(value),
  );
  return written.length === 0 ? rest : { ...rest, metadata: Object.fromEntries(written) };
}

/** No labels and no finalizers are the same as none at all. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function metadataOf({ metadata }: JsonObject): object {
  return objectOf(metadata);
}

function namespaceOf({ namespace }: Manifest["metadata"]): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

function asJson(value: object): Record<string, Json | undefined> {
  return { ...value };
}

function isJsonObject(value: unknown): value is JsonObject {
  return isRecord(value);
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

const wholeKinds: readonly string[] = [
  "Namespace",
  "Deployment",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "CustomResourceDefinition",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
];

/** Keeps of an object what the controller reads back; of everything else its digest tells whether it changes. */
function keepContent(
  object: JsonObject & Pick<Manifest, "apiVersion" | "kind">,
  { keepsAll }: Pick<Authorship, "keepsAll">,
): Draft {
  const { apiVersion, kind, metadata = {}, ...rest } = object;
  const head = { apiVersion, kind };
  const base = { ...head, metadata: { name: "", ...(isRecord(metadata) ? metadata : {}) } };
  const text = canonicalJson(rest);
  const isAnchor = kind === "ConfigMap" && text.length > 2 && isAnchorMetadata(metadata);
  if (isAnchor) return { ...base, ...rest };
  const digest = createHash("sha1").update(text).digest("base64");
  if (!keepsAll && !wholeKinds.includes(kind)) return { ...base, digest };
  const content = kind === "CustomResourceDefinition" ? definitionOf(rest) : rest;
  return { ...base, ...once(content), digest };
}

function isAnchorMetadata(metadata: Json): boolean {
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  return isJsonObject(annotations) && anchorAnnotations.anchor in annotations;
}

/** A definition without its schemas, which are most of it. */
function definitionOf(content: JsonObject): JsonObject {
  const { spec } = content;
  if (!isJsonObject(spec)) return content;
  const { group, names, scope, versions } = spec;
  const short = (Array.isArray(versions) ? versions : []).map((version) => {
    if (!isJsonObject(version)) return version;
    const { name, served, storage } = version;
    return { name, served, storage };
  });
  return { spec: { group, names, scope, versions: short } };
}

function once(value: JsonObject): JsonObject {
  const text = JSON.stringify(value);
  const known = shared.get(text);
  if (known === undefined) shared.set(text, value);
  return known ?? value;
}

function textOf({ metadata, ...object }: Draft | StoredObject): string {
  const { labels, annotations, ownerReferences, finalizers } = metadata;
  return canonicalJson({
    content: specTextOf({ metadata, ...object }),
    metadata: { labels, annotations, ownerReferences, finalizers },
  });
}

function specTextOf(stored: Draft | StoredObject): string {
  const { metadata: _, status: __, digest, ...object } = stored;
  return digest ?? canonicalJson(object);
}
