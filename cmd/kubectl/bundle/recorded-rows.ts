import { ApiError } from "../../../access/kube/api-error.ts";
import { isRecord } from "../../../api/fields.ts";
import { groupOf } from "../../../api/kubernetes.ts";
import { stringAt } from "../selection/fields.ts";
import { labelMatcher } from "../selection/label-selector.ts";
import type { ObjectRow, ServedKind } from "../spokes/object-table.ts";
import type { RecordedTable } from "./bundle.ts";

/** Selects objects of a kind. Without a namespace: of all namespaces. */
export interface ObjectFilter {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** The selected rows of a table. Throws the recorded ApiError where the server refused the list. */
export function recordedRows(table: RecordedTable, filter: ObjectFilter): readonly ObjectRow[] {
  const { namespace, labelSelector = "", fieldSelector = "" } = filter;
  // A list of all namespaces fails only where that list failed. It has the rows of the namespaces that could be read.
  const refusal = table.unread.find((one) => one.namespace === (namespace ?? null));
  if (refusal !== undefined) throw refusedBy(refusal, table);
  const hasLabels = labelMatcher(labelSelector, "--selector");
  const hasFields = fieldMatcher(fieldSelector);
  return table.rows.filter(({ object }) => {
    const isThere =
      namespace === undefined || stringAt(object, "metadata", "namespace") === namespace;
    return isThere && hasLabels(labelsOf(object)) && hasFields(object);
  });
}

function refusedBy(
  { status, message }: RecordedTable["unread"][number],
  { kind }: RecordedTable,
): ApiError {
  const facts = { reason: "", causes: [], isStatus: true, request: `LIST ${kind.plural}` };
  return new ApiError({ ...facts, status, message });
}

function labelsOf(object: unknown): Readonly<Record<string, string>> {
  const metadata = isRecord(object) ? object["metadata"] : undefined;
  const labels = isRecord(metadata) ? metadata["labels"] : undefined;
  const entries = Object.entries(isRecord(labels) ? labels : {});
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** Parses `a.b=c,d!=e`, for any field. */
function fieldMatcher(selector: string): (object: unknown) => boolean {
  const rules = selector
    .split(",")
    .map((part) => /^\s*([\w.]+)\s*(!=|==|=)\s*(.*?)\s*$/.exec(part) ?? [])
    .flatMap(([, path, sign, value]) => (path === undefined ? [] : [{ path, sign, value }]));
  return (object) =>
    rules.every(({ path, sign, value }) => {
      const isEqual = (stringAt(object, ...path.split(".")) ?? "") === value;
      return isEqual === (sign !== "!=");
    });
}

/** The answer of an API server to a request for a Table. */
export function tableAnswer(table: RecordedTable, filter: ObjectFilter): unknown {
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: {},
    columnDefinitions: table.columns,
    rows: recordedRows(table, filter),
  };
}

/** The answer of an API server to discovery, with the kinds of the bundle. */
export function discoveryOf(
  tables: readonly RecordedTable[],
  isAsked: (kind: ServedKind) => boolean,
): unknown {
  const kinds = tables.map(({ kind }) => kind).filter(isAsked);
  const groups = Map.groupBy(kinds, ({ apiVersion }) => groupOf(apiVersion));
  return {
    kind: "APIGroupDiscoveryList",
    items: [...groups].map(([name, own]) => ({
      metadata: { name },
      versions: [...Map.groupBy(own, versionOf)].map(([version, some]) => ({
        version,
        resources: some.map(resourceOf),
      })),
    })),
  };
}

function versionOf({ apiVersion }: ServedKind): string {
  return apiVersion.split("/").at(-1) ?? "";
}

function resourceOf({ plural, kind, namespaced, words, categories }: ServedKind): unknown {
  return {
    resource: plural,
    responseKind: { kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: kind.toLowerCase(),
    verbs: ["list"],
    shortNames: words.filter((word) => word !== plural && word !== kind.toLowerCase()),
    categories,
  };
}
