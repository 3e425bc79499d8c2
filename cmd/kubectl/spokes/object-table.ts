import { nextPage, type PageQuery } from "../../../access/kube/api-answer.ts";
import { ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { collectionPath } from "../../../access/kube/kube-path.ts";
import { isRecord } from "../../../api/fields.ts";
import type { ResourceType } from "../../../api/resources.ts";
import { itemsAt, stringAt, numberAt } from "../selection/fields.ts";

/** A kind that a cluster serves, with its names. */
export interface ServedKind extends ResourceType {
  readonly group: string;
  /** Plural, singular, short names and the kind itself, in lower case. */
  readonly words: readonly string[];
  readonly categories: readonly string[];
}

const discoveryTypes =
  "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList,application/json";

/** The kinds that a cluster serves and can list, each in its preferred version, in two requests. Throws what KubeClient throws. */
export async function servedKinds(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<readonly ServedKind[]> {
  return (await readServed(client, signal)).kinds;
}

/** A view of other objects, such as metrics, has `isView`: nobody can create, change or delete its objects. */
interface FoundKind {
  readonly kind: ServedKind;
  readonly isView: boolean;
}

interface Served {
  readonly kinds: readonly ServedKind[];
  /** The kinds among them that are views of other objects. */
  readonly views: ReadonlySet<ServedKind>;
  /** Group versions whose server does not answer, and paths whose answer names no kinds, so that kinds may be missing. */
  readonly stale: readonly string[];
}

/** `servedKinds`, with what may be missing there. */
export async function readServed(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<Served> {
  const lists = await Promise.all(
    ["/api", "/apis"].map(async (path) => {
      const answer = client.request("GET", path, undefined, signal, { accept: discoveryTypes });
      return { path, groups: itemsAt(await answer, "items") };
    }),
  );
  const groups = lists.flatMap((list) => list.groups);
  const found = groups.flatMap(kindsOfGroup);
  const kinds = found.map(({ kind }) => kind);
  return {
    views: new Set(found.flatMap(({ kind, isView }) => (isView ? [kind] : []))),
    kinds: kinds.filter(({ group, plural }, at) => {
      // The first version with a kind is its preferred version.
      return kinds.findIndex((one) => one.group === group && one.plural === plural) === at;
    }),
    stale: [
      // A server or proxy that does not know the format answers with names of groups alone.
      ...lists.filter((list) => list.groups.length === 0).map(({ path }) => path),
      ...groups.flatMap(staleVersions),
    ],
  };
}

function staleVersions(group: unknown): readonly string[] {
  return itemsAt(group, "versions")
    .filter((version) => stringAt(version, "freshness") === "Stale")
    .map((version) => `${stringAt(group, "metadata", "name")}/${stringAt(version, "version")}`);
}

function kindsOfGroup(group: unknown): readonly FoundKind[] {
  const name = stringAt(group, "metadata", "name") ?? "";
  return itemsAt(group, "versions").flatMap((version) => {
    const number = stringAt(version, "version") ?? "";
    const apiVersion = name === "" ? number : `${name}/${number}`;
    return itemsAt(version, "resources").flatMap((resource) =>
      kindOf(resource, { group: name, apiVersion }),
    );
  });
}

function kindOf(
  resource: unknown,
  { group, apiVersion }: { readonly group: string; readonly apiVersion: string },
): readonly FoundKind[] {
  const plural = stringAt(resource, "resource");
  const kind = stringAt(resource, "responseKind", "kind");
  const verbs = textsAt(resource, "verbs");
  if (plural === null || kind === null || !verbs.includes("list")) return [];
  const singular = stringAt(resource, "singularResource") ?? "";
  const words = [plural, singular, ...textsAt(resource, "shortNames"), kind.toLowerCase()];
  const isView = verbs.every((verb) => readVerbs.has(verb));
  const named = words.filter((word) => word !== "");
  const served: ServedKind = {
    apiVersion,
    group,
    kind,
    plural,
    namespaced: stringAt(resource, "scope") === "Namespaced",
    words: named,
    categories: textsAt(resource, "categories"),
  };
  return [{ kind: served, isView }];
}

const readVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

function textsAt(value: unknown, field: string): readonly string[] {
  const list = isRecord(value) ? value[field] : undefined;
  return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
}

/** The kinds with a name, with or without its group, or in a category of that name, as kubectl finds them. */
export function kindsNamed(word: string, served: readonly ServedKind[]): readonly ServedKind[] {
  const [name = "", ...group] = word.toLowerCase().split(".");
  const named = served.filter((one) => one.words.includes(name));
  const wanted = group.join(".");
  const inGroup = named.find((one) => one.group === wanted || isVersioned(one, wanted));
  if (wanted !== "") return inGroup === undefined ? [] : [inGroup];
  const [first] = named;
  return first === undefined ? served.filter((one) => one.categories.includes(name)) : [first];
}

/** Whether a suffix such as `v1.apps` in `deployments.v1.apps` is version and group of a kind. */
function isVersioned({ group, apiVersion }: ServedKind, wanted: string): boolean {
  return wanted === `${apiVersion.split("/").at(-1) ?? ""}.${group}`;
}

/** A column as the API server names it. */
export interface Column {
  readonly name: string;
  /** 0 is always shown, more only in wide output. */
  readonly priority: number;
}

/** One object with the cells of its row from the API server. */
export interface ObjectRow {
  readonly cells: readonly unknown[];
  readonly object: Readonly<Record<string, unknown>>;
}

/** Objects of one kind on one cluster. */
export interface ObjectTable {
  readonly kind: ServedKind;
  readonly columns: readonly Column[];
  readonly rows: readonly ObjectRow[];
}

export interface ListOptions {
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  /** Objects in one answer; 0: all at once. Default 500. */
  readonly pageSize?: number;
  /** Keep the managedFields of workloads that want no pods, which tell whether somebody scaled them. */
  readonly keepScalers?: boolean;
}

const tableTypes = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
// Far more objects than a cluster has of one kind. A server that never ends must not fill our memory. Security: T-54.
const maxRows = 1_000_000;

/** Lists objects as a Table of the server, in pages. Throws what KubeClient throws. */
export async function listTable(
  client: Pick<KubeClient, "request" | "server">,
  {
    kind,
    pageSize = 500,
    keepScalers = false,
    ...ref
  }: ListOptions & { readonly kind: ServedKind },
  signal: AbortSignal,
): Promise<ObjectTable> {
  const rows: ObjectRow[] = [];
  let columns: readonly Column[] = [];
  let next: string | undefined;
  const read = (query: PageQuery): Promise<unknown> => {
    const path = collectionPath({ resource: kind, ...ref }, { ...query, includeObject: "Object" });
    return client.request("GET", path, undefined, signal, { accept: tableTypes });
  };
  const limit = pageSize === 0 ? undefined : pageSize;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- each page names the next
    const { page: answer, isAnew } = await nextPage(read, { limit, continue: next });
    if (isAnew) rows.length = 0;
    columns = itemsAt(answer, "columnDefinitions").map(columnOf);
    for (const row of itemsAt(answer, "rows").flatMap((one) => rowOf(one, keepScalers)))
      rows.push(row);
    next = stringAt(answer, "metadata", "continue") ?? undefined;
    if (next === undefined) return { kind, columns, rows };
    if (rows.length >= maxRows) {
      throw new ConnectionError("other", `${client.server} sent more than ${maxRows} objects`);
    }
  }
}

function columnOf(definition: unknown): Column {
  const name = stringAt(definition, "name") ?? "";
  return { name, priority: numberAt(definition, "priority") ?? 0 };
}

function rowOf(row: unknown, keepScalers: boolean): readonly ObjectRow[] {
  if (!isRecord(row)) return [];
  const { object } = row;
  const cells = itemsAt(row, "cells");
  return [{ cells, object: isRecord(object) ? withoutNoise(object, keepScalers) : {} }];
}

/** As kubectl prints an object: without managedFields and the last-applied annotation. */
function withoutNoise(
  object: Readonly<Record<string, unknown>>,
  keepScalers: boolean,
): Readonly<Record<string, unknown>> {
  const { metadata } = object;
  if (!isRecord(metadata)) return object;
  const { managedFields, annotations, ...kept } = metadata;
  const isScaled = keepScalers && numberAt(object, "spec", "replicas") === 0;
  const scalers = isScaled && managedFields !== undefined ? { managedFields } : {};
  const own = isRecord(annotations)
    ? Object.entries(annotations).filter(([name]) => name !== lastApplied)
    : [];
  const shown = own.length === 0 ? {} : { annotations: Object.fromEntries(own) };
  return { ...object, metadata: { ...kept, ...scalers, ...shown } };
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
