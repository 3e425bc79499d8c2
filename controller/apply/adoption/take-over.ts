import type { StatusCause } from "../../../access/kube/api-error.ts";
import { pointerOf } from "../../../api/json-pointer.ts";
import type { KubeObject, Manifest, ManagedFieldsEntry } from "../../../api/kubernetes.ts";
import { handedOverPaths } from "../../../installation/hand-over.ts";
import {
  type FieldSet,
  fieldsAt,
  hasField,
  isEmpty,
  isFieldSet,
  isOwnEntry,
  unionOfFields,
  withoutFields,
} from "../../../installation/managed-fields.ts";
import { scalePath } from "../../../installation/scale.ts";
import { upstreamAnnotations } from "../../../installation/workload-part.ts";

const libraryManager = "manifestival";
const upstreamManagers: readonly (string | undefined)[] = [libraryManager, "operator"];

/** Whether upstream's operator owns fields of an object that no adoption has taken over yet. */
export function isUpstreams({ metadata }: Pick<Manifest, "metadata">): boolean {
  return (metadata.managedFields ?? []).some(isOfUpstream);
}

/**
 * Whether upstream's apply library, which writes all objects of an installation, owns such fields. The operator itself writes anchors and namespaces.
 * Other programs may have its field manager's name, too.
 */
export function isOfLibrary({ metadata }: Pick<Manifest, "metadata">): boolean {
  const entries = metadata.managedFields ?? [];
  return entries.some((entry) => isOfUpstream(entry) && entry.manager === libraryManager);
}

/**
 * The JSON Patch that makes all remaining fields of upstream's operator ours, so that our next apply removes the fields that it does not send.
 * Undefined when there are no such fields. Fields that others fill in (table A) then have no owner.
 *
 * The library's annotations are removed. On Deployments they become ours instead: their removal would raise the generation, so it waits for a change
 * that raises it anyway. Spec: engine-facts.md 4.
 */
export function adoptionPatch(
  live: KubeObject,
  { manager, isScaled }: { readonly manager: string; readonly isScaled: boolean },
): readonly object[] | undefined {
  const entries = live.metadata.managedFields ?? [];
  const theirs = entries.filter((entry) => isOfUpstream(entry) && isOfVersion(entry, live));
  const kept = entries.filter((entry) => !theirs.includes(entry));
  const notes = presentAnnotations(live);
  const drops = isRaisedByAnnotations(live) ? [] : notes;
  if (theirs.length === 0) return undefined;
  const written = theirs.map(fieldsOf).reduce(unionOfFields, {});
  const left = [
    ...handedOverPaths(live, written),
    ...(isScaled ? [scalePath] : []),
    ...drops.map(annotationPath),
  ];
  const taken = left.reduce((set, path) => withoutFields(set, fieldsAt(set, path)), written);
  return [
    ...preconditions(live),
    {
      op: "replace",
      path: "/metadata/managedFields",
      value: withOurs(kept, taken, { live, manager }),
    },
    ...drops.map((name) => ({ op: "remove", path: pointerOf("metadata", "annotations", name) })),
  ];
}

/** The library's annotations that an object has and has to keep for now; see `adoptionPatch`. */
export function keptAnnotations(live: KubeObject): Readonly<Record<string, string>> | undefined {
  if (!isRaisedByAnnotations(live)) return undefined;
  const { annotations = {} } = live.metadata;
  const kept = presentAnnotations(live).map((name) => [name, annotations[name] ?? ""] as const);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** The library's annotations that an adoption made ours and that no other writer changed since. */
export function ownNotes(
  live: KubeObject,
  manager: string,
): Readonly<Record<string, string>> | undefined {
  const { managedFields = [] } = live.metadata;
  const own = managedFields.filter((entry) => isOwnEntry(entry, manager)).map(fieldsOf);
  const notes = Object.entries(keptAnnotations(live) ?? {}).filter(([name]) =>
    own.some((set) => hasField(set, annotationPath(name))),
  );
  return notes.length === 0 ? undefined : Object.fromEntries(notes);
}

/**
 * The JSON Patch that makes ours the fields because of which the server refused our apply: the number of a port, the type of a volume, the handler of
 * a probe, the source of a variable, the controlling owner. The server would keep these values of others beside ours. Undefined when no other manager
 * wrote there. List items that are not ours are changed only when they duplicate ours. Spec: engine-facts.md 3.
 */
export function takeOverPatch(
  live: KubeObject,
  causes: readonly StatusCause[],
  manager: string,
): readonly object[] | undefined {
  const entries = live.metadata.managedFields ?? [];
  const own = entries.filter((entry) => isOwnEntry(entry, manager)).map(fieldsOf);
  const ours = own.reduce(unionOfFields, {});
  let taken: FieldSet = {};
  const others = entries.map((entry) => {
    if (isOwnEntry(entry, manager) || !isWhole(entry) || !isOfVersion(entry, live)) return entry;
    const fields = causes
      .map((cause) =>
        isOfController(cause)
          ? controllersIn(live, fieldsOf(entry))
          : contestedBy(cause, fieldsOf(entry), ours),
      )
      .reduce(unionOfFields, {});
    taken = unionOfFields(taken, fields);
    return withFields(entry, withoutFields(fieldsOf(entry), fields));
  });
  if (isEmpty(taken)) return undefined;
  const value = withOurs(others.filter(hasFields), taken, { live, manager });
  return [...preconditions(live), { op: "replace", path: "/metadata/managedFields", value }];
}

/**
 * The JSON Patch that makes part of our apply all fields that we wrote with other requests, and all fields of `former`: the field manager of the
 * controller whose installation becomes ours. Undefined when there are no such fields.
 */
export function ownPatch(live: KubeObject, manager: string, former = "") {
  const entries = live.metadata.managedFields ?? [];
  const isTheirs = (entry: ManagedFieldsEntry): boolean =>
    entry.manager === former || (entry.manager === manager && entry.operation === "Update");
  const written = entries.filter((entry) => isTheirs(entry) && isWhole(entry));
  if (written.length === 0) return undefined;
  const others = entries.filter((entry) => !written.includes(entry));
  const value = withOurs(others, written.map(fieldsOf).reduce(unionOfFields, {}), {
    live,
    manager,
  });
  return [...preconditions(live), { op: "replace", path: "/metadata/managedFields", value }];
}

/** The JSON Patch that gives up fields of ours without changing them; undefined when none of them is ours. */
export function releasePatch(
  live: KubeObject,
  paths: readonly (readonly string[])[],
  manager: string,
): readonly object[] | undefined {
  const entries = live.metadata.managedFields ?? [];
  const value = entries.map((entry) => {
    if (!isOwnEntry(entry, manager)) return entry;
    const less = paths.reduce(
      (set, path) => withoutFields(set, fieldsAt(set, path)),
      fieldsOf(entry),
    );
    return withFields(entry, less);
  });
  const changed = value.some((entry, index) => entry !== entries[index]);
  if (!changed) return undefined;
  return [
    ...preconditions(live),
    { op: "replace", path: "/metadata/managedFields", value: value.filter(hasFields) },
  ];
}

/** The first operations of a JSON Patch. They make it fail for any object except the one that was read. */
export function preconditions({ metadata }: KubeObject): readonly object[] {
  return [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    // No `test` operation: an old version gives a conflict, and the caller reads the object again.
    { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
  ];
}

/** The operation of a JSON Patch that sets a label or an annotation of an object that has some. */
export function setAt(field: "labels" | "annotations", name: string, value: string): object {
  return { op: "add", path: pointerOf("metadata", field, name), value };
}

/** Whether an object was refused because another owner controls it. Only one owner can control an object. */
export function isOfController({ field }: StatusCause): boolean {
  return field === "metadata.ownerReferences";
}

/** Only the controlling owner is an obstacle. */
function controllersIn({ metadata: { ownerReferences = [] } }: KubeObject, theirs: FieldSet) {
  return ownerReferences
    .filter(({ controller }) => controller === true)
    .map(({ uid }) => ["f:metadata", "f:ownerReferences", `k:${JSON.stringify({ uid })}`])
    .map((path) => fieldsAt(theirs, path))
    .reduce(unionOfFields, {});
}

function contestedBy(cause: StatusCause, theirs: FieldSet, ours: FieldSet): FieldSet {
  const names = (cause.field ?? "").replaceAll(/\[[^\]]*\]/g, "").split(".");
  if (names.length < 2) return {};
  const isTwin = cause.reason === "FieldValueDuplicate";
  return area({ theirs, ours }, names.slice(0, -1), isTwin) ?? {};
}

interface Both {
  readonly theirs: FieldSet;
  readonly ours: FieldSet | undefined;
}

/** Their fields at the end of a path of names, which leads through items only where the item is ours too. */
function area(
  { theirs, ours }: Both,
  names: readonly string[],
  isTwin: boolean,
): FieldSet | undefined {
  const [name, ...rest] = names;
  if (name === undefined && (isTwin || !Object.keys(theirs).some(isItem))) return theirs;
  const found = Object.entries(theirs).flatMap(([step, child]): readonly [string, FieldSet][] => {
    if (!isFieldSet(child)) return [];
    const own = ours?.[step];
    const both = { theirs: child, ours: isFieldSet(own) ? own : undefined };
    if (isItem(step) && both.ours === undefined) return [];
    const inside = within(both, { step, name, rest, names }, isTwin);
    return inside === undefined ? [] : [[step, inside]];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

interface At {
  readonly step: string;
  readonly name: string | undefined;
  readonly rest: readonly string[];
  readonly names: readonly string[];
}

function within(
  both: Both,
  { step, name, rest, names }: At,
  isTwin: boolean,
): FieldSet | undefined {
  if (isItem(step)) return name === undefined ? both.theirs : area(both, names, isTwin);
  return step === `f:${name}` ? area(both, rest, isTwin) : undefined;
}

function isItem(step: string): boolean {
  return step.startsWith("k:") || step.startsWith("v:") || step.startsWith("i:");
}

function withOurs(
  others: readonly ManagedFieldsEntry[],
  taken: FieldSet,
  { live, manager }: { readonly live: KubeObject; readonly manager: string },
): readonly ManagedFieldsEntry[] {
  if (isEmpty(taken)) return others;
  const known = others.find((entry) => isOwnEntry(entry, manager));
  const entry = known ?? {
    manager,
    operation: "Apply",
    apiVersion: live.apiVersion,
    time: live.metadata.creationTimestamp ?? "1970-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
  };
  const ours = withFields(entry, unionOfFields(fieldsOf(entry), taken));
  return [...others.filter((other) => other !== known), ours];
}

function presentAnnotations({ metadata }: KubeObject): readonly string[] {
  return upstreamAnnotations.filter((name) => Object.hasOwn(metadata.annotations ?? {}, name));
}

// Only for this kind annotations change the generation.
function isRaisedByAnnotations({ apiVersion, kind }: Manifest): boolean {
  return kind === "Deployment" && apiVersion.startsWith("apps/");
}

function annotationPath(name: string): readonly string[] {
  return ["f:metadata", "f:annotations", `f:${name}`];
}

function isOfUpstream(entry: ManagedFieldsEntry): boolean {
  return entry.operation === "Update" && upstreamManagers.includes(entry.manager) && isWhole(entry);
}

function isWhole({ subresource = "" }: ManagedFieldsEntry): boolean {
  return subresource === "";
}

// Paths of another version of the kind may mean other fields.
function isOfVersion(entry: ManagedFieldsEntry, { apiVersion }: Manifest): boolean {
  return entry.apiVersion === apiVersion;
}

function fieldsOf({ fieldsV1 }: ManagedFieldsEntry): FieldSet {
  return fieldsV1 ?? {};
}

function withFields(entry: ManagedFieldsEntry, fieldsV1: FieldSet): ManagedFieldsEntry {
  return fieldsV1 === entry.fieldsV1 ? entry : { ...entry, fieldsV1 };
}

function hasFields(entry: ManagedFieldsEntry): boolean {
  return !isEmpty(fieldsOf(entry));
}
