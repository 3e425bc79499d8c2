import { createHash } from "node:crypto";

import { canonicalJson, isRecord, isSameJson } from "../../api/fields.ts";
import type {
  Json,
  JsonObject,
  KubeObject,
  ManagedFieldsEntry,
  Manifest,
} from "../../api/kubernetes.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import { mergePatch } from "../../sets/desired-spec.ts";
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
 * Server-side apply as a merge: what the manager applied before and does not any more goes, what it applies now replaces what is there. Lists are one value each, because nobody else
 * writes on a virtual spoke. Returns the live object when nothing changes.
 */
export function applied(
  live: StoredObject | undefined,
  manifest: Manifest,
  authorship: Authorship,
): Draft | StoredObject {
  const writer = { manager: authorship.manager, operation: "Apply" } as const;
  const entry = ownEntryOf(live, writer);
  const { apiVersion, kind, metadata } = manifest;
  const fields = fieldsOf(manifest);
  const before = live === undefined ? {} : contentOf(live);
  const rest = without(before, entry?.fieldsV1, fields);
  const merged = { ...objectOf(mergePatch(rest, contentOf(manifest))), apiVersion, kind };
  const kept = keepContent(merged, authorship);
  const identity = { name: metadata.name ?? "", ...namespaceOf(metadata) };
  const draft = { ...kept, metadata: { ...metadataOf(merged), ...identity } };
  return changed(live, draft, { writer, fields, time: authorship.time });
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
  const writer = { manager: authorship.manager, operation: "Update" } as const;
  const draft = { ...kept, metadata: { ...metadataOf(content), ...identity } };
  return changed(live, draft, { writer, fields: fieldsOf(manifest), time: authorship.time });
}

/** A live object with a changed copy of it in its place. Returns the live object when nothing changes. */
export function patched(
  live: StoredObject,
  copy: Manifest,
  authorship: Authorship,
): Draft | StoredObject {
  const { managedFields } = copy.metadata;
  if (!isSameJson(managedFields, live.metadata.managedFields)) {
    const content = patchedContent(live, copy, authorship);
    const { resourceVersion: _, ...metadata } = content.metadata;
    return { ...content, metadata: { ...metadata, ...(managedFields && { managedFields }) } };
  }
  return patchedContent(live, copy, authorship);
}

function patchedContent(
  live: StoredObject,
  copy: Manifest,
  authorship: Authorship,
): Draft | StoredObject {
  const { apiVersion, kind } = live;
  const isContentKept =
    authorship.keepsAll || live.digest === undefined || wholeKinds.includes(kind);
  const content = isContentKept
    ? keepContent({ ...contentOf(copy), apiVersion, kind }, authorship)
    : { ...live, metadata: copy.metadata };
  const metadata = { ...metadataOf(contentOf(copy)), ...identityOf(live) };
  const writer = { manager: authorship.manager, operation: "Update" } as const;
  return changed(live, { ...content, metadata }, { writer, fields: {}, time: authorship.time });
}

function identityOf({ metadata }: StoredObject): {
  readonly name: string;
  readonly namespace?: string;
} {
  return { name: metadata.name, ...namespaceOf(metadata) };
}

interface Write {
  readonly writer: Writer;
  readonly fields: JsonObject;
  readonly time: string;
}

function changed(live: StoredObject | undefined, draft: Draft, write: Write): Draft | StoredObject {
  if (live !== undefined && changesNothing(live, draft, write)) return live;
  const { writer, fields, time: now } = write;
  const entry: ManagedFieldsEntry = {
    ...writer,
    apiVersion: draft.apiVersion,
    fieldsType: "FieldsV1",
    fieldsV1: once(fields),
    time: now,
  };
  const before = ownEntryOf(live, writer);
  const others = (live?.metadata.managedFields ?? []).filter((other) => other !== before);
  const managedFields = [...others, entry];
  const generation = nextGeneration(live, draft);
  const metadata = { ...draft.metadata, ...lifeOf(live, now), generation, managedFields };
  const status = live?.["status"];
  return { ...draft, ...(status === undefined ? {} : { status }), metadata };
}

function changesNothing(live: StoredObject, draft: Draft, { writer, fields }: Write): boolean {
  if (textOf(live) !== textOf(draft)) return false;
  const owned = ownEntryOf(live, writer)?.fieldsV1 ?? {};
  return writer.operation === "Update" || canonicalJson(owned) === canonicalJson(fields);
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

function ownEntryOf(
  live: StoredObject | undefined,
  { manager, operation }: Writer,
): ManagedFieldsEntry | undefined {
  return live?.metadata.managedFields?.find(
    (entry) =>
      entry.manager === manager &&
      entry.operation === operation &&
      (entry.subresource ?? "") === "",
  );
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
    ([field]) => !serverFields.includes(field),
  );
  return { ...rest, metadata: Object.fromEntries(written) };
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

/** Leaves out what a field set names and another one does not. */
function without(object: JsonObject, gone: JsonObject | undefined, kept: JsonObject): JsonObject {
  if (gone === undefined) return object;
  const entries = Object.entries(object).flatMap(([field, value]): [string, Json | undefined][] => {
    const step = `f:${field}`;
    const [was, is] = [gone[step], kept[step]];
    if (was === undefined) return [[field, value]];
    if (isJsonObject(was) && Object.keys(was).length > 0 && isJsonObject(value)) {
      return [[field, without(value, was, isJsonObject(is) ? is : {})]];
    }
    return is === undefined ? [] : [[field, value]];
  });
  return Object.fromEntries(entries);
}

/** The fields of a manifest in the format of `managedFields`. */
function fieldsOf(manifest: Manifest): JsonObject {
  return fieldSetOf(contentOf(manifest));
}

function fieldSetOf(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [`f:${field}`, isJsonObject(value) ? fieldSetOf(value) : {}]),
  );
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
