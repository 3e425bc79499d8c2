import { isRecord } from "../../../api/fields.ts";
import type { Reply } from "./conversation.ts";

/** Numbers the uids of a conversation, and the versions of each object, in the order in which they were seen. */
export class Identities {
  readonly #uids = new Map<string, number>();
  readonly #versions = new Map<string, Map<string, number>>();

  uid(uid: string): string {
    return `uid ${numberIn(this.#uids, uid)}`;
  }

  version(uid: string, version: unknown): string {
    const versions = this.#versions.get(uid) ?? new Map<string, number>();
    this.#versions.set(uid, versions);
    if (typeof version !== "string" || version === "") return "no version";
    return `version ${numberIn(versions, version)}`;
  }
}

function numberIn(known: Map<string, number>, key: string): number {
  const number = known.get(key) ?? known.size + 1;
  known.set(key, number);
  return number;
}

/** What two servers have to answer alike: all but texts for people, times, random names, and what a server of one kind adds for itself. */
export function comparableAnswer({ status, body }: Reply, identities: Identities): object {
  return { status, body: comparable(body, identities) };
}

/** The events of a watch, a line each. Bookmarks in between depend on the time; the one that ends the list does not. */
export function comparableEvents(text: string, identities: Identities): readonly unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => {
      const event: unknown = JSON.parse(line);
      if (!isRecord(event)) return [];
      const { type, object } = event;
      if (type !== "BOOKMARK") return { type, object: comparable(object, identities) };
      const { annotations } = recordIn(object, "metadata");
      return annotations === undefined ? [] : { type, annotations };
    });
}

function comparable(body: unknown, identities: Identities): unknown {
  if (!isRecord(body)) return body;
  if (body["kind"] === "Status") return comparableStatus(body);
  if ("items" in body) {
    const { items } = body;
    if (!Array.isArray(items)) return { kind: body["kind"], items };
    const shown = items.map((item) => comparableObject(recordOf(item), identities));
    const named = shown.toSorted((a, b) => (nameIn(a) < nameIn(b) ? -1 : 1));
    return { kind: body["kind"], items: named };
  }
  return comparableObject(body, identities);
}

/** Of a Status, what programs read. A success names what was deleted, which nobody reads. */
function comparableStatus({ status, reason, code, details }: Record<string, unknown>): object {
  const causes = recordOf(details)["causes"];
  const named = (Array.isArray(causes) ? causes : [])
    .map(recordOf)
    .filter((cause) => cause["reason"] === "FieldManagerConflict")
    .map(({ reason: why, field }) => `${String(why)} ${String(field)}`)
    .toSorted();
  return { status, ...(status === "Success" ? {} : { reason, code, named }) };
}

function comparableObject(object: Record<string, unknown>, identities: Identities): object {
  const { apiVersion: _, kind: __, metadata, ...content } = object;
  return { metadata: comparableMetadata(recordOf(metadata), identities), ...content };
}

function comparableMetadata(
  { uid, resourceVersion, ...metadata }: Record<string, unknown>,
  identities: Identities,
): object {
  const { creationTimestamp, deletionTimestamp, managedFields, ...rest } = metadata;
  const { deletionGracePeriodSeconds: _, generation, ownerReferences, ...named } = rest;
  const owners = Array.isArray(ownerReferences) ? ownerReferences.map(recordOf) : [];
  return {
    ...named,
    uid: identities.uid(String(uid)),
    resourceVersion: identities.version(String(uid), resourceVersion),
    isCreated: creationTimestamp !== undefined && creationTimestamp !== null,
    isGoing: deletionTimestamp !== undefined,
    ...(generation === undefined ? {} : { generation }),
    ...(owners.length > 0 && {
      owners: owners.map((owner) => ({ ...owner, uid: identities.uid(String(owner["uid"])) })),
    }),
    ...(managedFields === undefined ? {} : { managers: managersIn(managedFields) }),
  };
}

/** Who owns which fields. Entries of a status are left out: nobody asks who wrote one. */
function managersIn(managedFields: unknown): readonly unknown[] {
  const entries = (Array.isArray(managedFields) ? managedFields : []).map(recordOf);
  return entries
    .filter(({ subresource }) => subresource === undefined)
    .map(({ manager, operation, fieldsV1 }) => ({ manager, operation, owns: fieldsIn(fieldsV1) }))
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** The paths of a field set. Lists are one value each, as in the simulator. */
function fieldsIn(fields: unknown, path = ""): readonly string[] {
  const entries = Object.entries(recordOf(fields)).filter(([name]) => name !== ".");
  const isLeaf = entries.length === 0 || entries.some(([name]) => !name.startsWith("f:"));
  if (isLeaf) return [path];
  return entries.flatMap(([name, inner]) => fieldsIn(inner, `${path}.${name.slice(2)}`)).toSorted();
}

function nameIn(object: object): string {
  return String(recordIn(object, "metadata")["name"]);
}

function recordIn(value: unknown, field: string): Record<string, unknown> {
  return recordOf(recordOf(value)[field]);
}

function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
