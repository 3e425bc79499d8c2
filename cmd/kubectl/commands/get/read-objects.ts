import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Component } from "../../../../api/component.ts";
import { targetId } from "../../../../api/keys.ts";
import { namespacesOf } from "../../compare/rendering-options.ts";
import type { ReportError } from "../../output/report.ts";
import { stringAt } from "../../selection/fields.ts";
import {
  kindsNamed,
  type ListOptions,
  listTable,
  type ObjectRow,
  type ObjectTable,
  type ServedKind,
  servedKinds,
} from "../../spokes/object-table.ts";
import type { ReadOne } from "../../spokes/read-clusters.ts";

/** Objects of some kinds. */
export interface WantedObjects {
  /** Words for kinds, such as `deploy`. */
  readonly kinds: readonly string[];
  /** Empty: all. */
  readonly names: readonly string[];
}

/** What is read of clusters. */
export interface Wanted {
  readonly objects: readonly WantedObjects[];
  /** Undefined: the namespaces of the installations; null: all. */
  readonly namespace: string | null | undefined;
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  /** Objects in one answer of a server; 0: all at once. */
  readonly pageSize: number;
}

/** Objects of one cluster. */
export interface ClusterObjects {
  readonly tables: readonly ObjectTable[];
  /** Words for kinds that this cluster does not have. */
  readonly unknown: readonly string[];
  /** The names that were found, for each of the wanted objects. */
  readonly names: readonly ReadonlySet<string>[];
  /** Kinds that this cluster did not list. */
  readonly refused: readonly Omit<ReportError, "cluster">[];
}

/** Reads the objects of the clusters of components. A kind that may not be listed is an error in the report; when no kind may be listed, throws the error. */
export function readObjects(
  components: readonly Component[],
  wanted: Wanted,
): ReadOne<ClusterObjects> {
  return async ({ id, client }, signal) => {
    const served = await servedKinds(client, signal);
    const places = placesOf(
      components.filter((component) => targetId(component) === id),
      wanted,
    );
    const { labelSelector, fieldSelector, pageSize } = wanted;
    const parts = await Promise.all(
      wanted.objects.map(async ({ kinds, names }) => {
        const lists = await Promise.all(
          kinds
            .flatMap((word) => kindsNamed(word, served))
            .flatMap((kind) =>
              (kind.namespaced ? places : [undefined]).map((namespace) => ({ kind, namespace })),
            )
            .map((where) =>
              listUnlessDenied(
                client,
                { ...where, labelSelector, fieldSelector, pageSize },
                signal,
              ),
            ),
        );
        const tables = lists.flatMap((list) => ("kind" in list ? [rowsNamed(list, names)] : []));
        const refused = lists.flatMap((list) => ("kind" in list ? [] : [list]));
        return { tables, refused };
      }),
    );
    const words = wanted.objects.flatMap(({ kinds }) => kinds);
    const refused = parts.flatMap((part) => part.refused);
    const tables = parts.flatMap((part) => part.tables);
    // All lists were refused, so the cluster could not be read.
    if (tables.length === 0 && refused[0] !== undefined) throw refused[0].error;
    return {
      tables,
      unknown: words.filter((word) => kindsNamed(word, served).length === 0),
      names: parts.map((part) => new Set(part.tables.flatMap(({ rows }) => rows.map(nameOf)))),
      refused: refused.map(({ error }) => ({ reason: "Forbidden", message: error.message })),
    };
  };
}

/** Lists objects; the error when the list is forbidden, so that other lists are still shown. */
async function listUnlessDenied(
  client: KubeClient,
  options: ListOptions & { readonly kind: ServedKind },
  signal: AbortSignal,
): Promise<ObjectTable | { readonly error: ApiError }> {
  try {
    return await listTable(client, options, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return { error };
    throw error;
  }
}

function rowsNamed(table: ObjectTable, names: readonly string[]): ObjectTable {
  if (names.length === 0) return table;
  return { ...table, rows: table.rows.filter((row) => names.includes(nameOf(row))) };
}

export function nameOf({ object }: Pick<ObjectRow, "object">): string {
  return stringAt(object, "metadata", "name") ?? "";
}

function placesOf(
  components: readonly Component[],
  { namespace }: Wanted,
): readonly ListOptions["namespace"][] {
  return namespace === undefined ? namespacesOf(components) : [namespace ?? undefined];
}
