import { componentKinds, type Component } from "../../../api/component.ts";
import { timestampOf } from "../../../api/conditions.ts";
import { isRecord } from "../../../api/fields.ts";
import type { ClusterAccess } from "../cluster-access.ts";
import { exitCodes, type ExitCode } from "../exit-codes.ts";
import { stringAt } from "../fields.ts";
import { inTrouble, listInstallations } from "../installations.ts";
import {
  clusterIdOf,
  readEach,
  unreadErrors,
  type ReadLimits,
  type ReadOne,
} from "../read-clusters.ts";
import { reportApiVersion, type Report, type ReportError } from "../report.ts";
import type { Selection } from "../selection.ts";
import { kindsNamed, servedKinds } from "./discovery.ts";
import { listTable, type Column, type ListOptions } from "./object-table.ts";

/** One object of one cluster. */
export interface ObjectItem {
  /** `namespace/name` of the ClusterProfile; null for the hub itself. */
  readonly cluster: string | null;
  /** The object as the API server returned it, without managedFields; Secrets without their values. */
  readonly object: Readonly<Record<string, unknown>>;
}

export interface ObjectSummary {
  readonly objects: number;
  readonly clusters: number;
  readonly unread: number;
}

export type ObjectList = Report<"ObjectList", ObjectSummary, ObjectItem>;

/** Rows of one kind with the same columns, of all clusters. */
export interface ObjectBlock {
  readonly type: string;
  readonly namespaced: boolean;
  readonly columns: readonly Column[];
  readonly rows: readonly (ObjectItem & { readonly cells: readonly unknown[] })[];
}

export interface Wanted {
  /** Words for kinds, such as `deploy`. */
  readonly kinds: readonly string[];
  /** Empty: all. */
  readonly names: readonly string[];
  /** Undefined: the namespaces of the installations; null: all. */
  readonly namespace: string | null | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  /** Objects in one answer of a server; 0: all at once. */
  readonly pageSize: number;
}

interface GetDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly now: () => Date;
  readonly cliVersion: string;
}

/** The objects of the selected installations' clusters, by cluster, kind, namespace and name. Throws only when the hub cannot be read. */
export async function getObjects(
  { selection, wanted }: { readonly selection: Selection; readonly wanted: Wanted },
  { access, limits, now, cliVersion }: GetDeps,
  signal: AbortSignal,
): Promise<{ readonly list: ObjectList; readonly blocks: readonly ObjectBlock[] }> {
  const components = inTrouble(await listInstallations(access, selection, signal), selection);
  const read = readObjects(components, wanted);
  const readings = await readEach(components, { access, limits, read }, signal);
  const facts = [...readings].flatMap(([id, reading]) =>
    reading.kind === "read" ? [{ cluster: id === "" ? null : id, ...reading.facts }] : [],
  );
  const blocks = blocksOf(facts);
  const items = blocks.flatMap(({ rows }) =>
    rows.map(({ cluster, object }) => ({ cluster, object })),
  );
  const unread = unreadErrors(readings);
  const unknown = facts.flatMap(({ cluster, unknown: words }) =>
    words.map((word) => notServed(word, cluster)),
  );
  const list: ObjectList = {
    apiVersion: reportApiVersion,
    kind: "ObjectList",
    generatedAt: timestampOf(now()),
    cliVersion,
    complete: unread.length === 0,
    summary: { objects: items.length, clusters: readings.size, unread: unread.length },
    items,
    errors: [...missing(wanted, items, facts.length), ...unknown, ...unread],
  };
  return { list, blocks };
}

interface ClusterObjects {
  readonly tables: readonly Awaited<ReturnType<typeof listTable>>[];
  readonly unknown: readonly string[];
}

function readObjects(components: readonly Component[], wanted: Wanted): ReadOne<ClusterObjects> {
  return async ({ id, client }, signal) => {
    const served = await servedKinds(client, signal);
    const named = wanted.kinds.map((word) => ({ word, kinds: kindsNamed(word, served) }));
    const places = placesOf(
      components.filter((component) => clusterIdOf(component) === id),
      wanted,
    );
    const { labelSelector, fieldSelector, pageSize } = wanted;
    const tables = await Promise.all(
      named
        .flatMap(({ kinds }) => kinds)
        .flatMap((kind) => {
          const where: readonly ListOptions["namespace"][] = kind.namespaced ? places : [undefined];
          return where.map((namespace) =>
            listTable(client, { kind, namespace, labelSelector, fieldSelector, pageSize }, signal),
          );
        }),
    );
    const isWanted = (name: string | null): boolean =>
      wanted.names.length === 0 || wanted.names.includes(name ?? "");
    return {
      tables: tables.map((table) => ({
        ...table,
        rows: table.rows.filter(({ object }) => isWanted(stringAt(object, "metadata", "name"))),
      })),
      unknown: named.filter(({ kinds }) => kinds.length === 0).map(({ word }) => word),
    };
  };
}

function placesOf(
  components: readonly Component[],
  { namespace }: Wanted,
): readonly ListOptions["namespace"][] {
  if (namespace !== undefined) return [namespace ?? undefined];
  // A newer upstream operator installs into fixed namespaces.
  const places = components.flatMap(({ kind, metadata, spec }) =>
    spec?.clusterProfileRef === undefined
      ? [metadata.namespace]
      : [metadata.namespace, componentKinds[kind].label],
  );
  return [...new Set(places)];
}

interface Found extends ClusterObjects {
  readonly cluster: string | null;
}

function blocksOf(facts: readonly Found[]): readonly ObjectBlock[] {
  const tables = facts
    .toSorted((a, b) => ((a.cluster ?? "") < (b.cluster ?? "") ? -1 : 1))
    .flatMap(({ cluster, tables: own }) => own.map((table) => ({ cluster, ...table })))
    .filter(({ rows }) => rows.length > 0);
  const groups = Map.groupBy(tables, ({ kind, columns }) =>
    JSON.stringify([kind.group, kind.plural, columns]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { kind, columns } = first;
    const type =
      kind.group === ""
        ? singular(kind.words, kind.plural)
        : `${singular(kind.words, kind.plural)}.${kind.group}`;
    const rows = group.flatMap(({ cluster, rows: own }) =>
      own.map(({ cells, object }) => ({ cluster, cells, object: withoutSecrets(object) })),
    );
    return [{ type, namespaced: kind.namespaced, columns, rows }];
  });
}

function singular([, word]: readonly string[], plural: string): string {
  return word ?? plural;
}

/** Values of a Secret never leave the program; their names do. */
function withoutSecrets(object: ObjectItem["object"]): ObjectItem["object"] {
  if (object["kind"] !== "Secret") return object;
  const { data, stringData: _, ...rest } = object;
  const keys = Object.keys(isRecord(data) ? data : {});
  return { ...rest, data: Object.fromEntries(keys.map((key) => [key, "<hidden>"])) };
}

function notServed(word: string, cluster: string | null): ReportError {
  const message = `The server doesn't have a resource type "${word}"`;
  return { reason: "NotServed", message, cluster };
}

/** Names that no cluster has; nothing is missing where nothing could be read. */
function missing(
  { names, kinds }: Wanted,
  items: readonly ObjectItem[],
  clusters: number,
): readonly ReportError[] {
  if (clusters === 0) return [];
  return names
    .filter((name) => !items.some(({ object }) => stringAt(object, "metadata", "name") === name))
    .map((name) => ({
      reason: "NotFound" as const,
      message: `${kinds.join(",")} "${name}" not found`,
      cluster: null,
    }));
}

/** The exit code that a list stands for: what was named and is nowhere, then what could not be read. */
export function getExitCode(list: ObjectList): ExitCode {
  const isMissing = list.errors.some(
    ({ reason }) => reason === "NotFound" || reason === "NotServed",
  );
  if (isMissing) return exitCodes.unhealthy;
  return list.complete ? exitCodes.fine : exitCodes.incomplete;
}
