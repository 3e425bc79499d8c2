import { groupOf } from "../../../api/kubernetes.ts";
import type { ServedKind } from "../commands/get/object-table.ts";
import type { RecordedTable } from "./bundle.ts";
import { recordedRows, type Place } from "./recorded-rows.ts";

/** The answer of an API server that is asked for a Table. */
export function tableAnswer(table: RecordedTable, where: Place): unknown {
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: {},
    columnDefinitions: table.columns,
    rows: recordedRows(table, where),
  };
}

/** The answer of an API server that is asked which kinds it serves: those that the bundle has. */
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
