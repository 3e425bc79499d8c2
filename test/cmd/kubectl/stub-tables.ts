import { groupOf, type KubeObject } from "../../../api/kubernetes.ts";
import { tableResource } from "../../../api/resources.ts";
import type { RecordedTable } from "../../../cmd/kubectl/bundle/bundle.ts";
import { discoveryOf, tableAnswer } from "../../../cmd/kubectl/bundle/recorded-rows.ts";
import type { Answer } from "./stub-hub.ts";

/** Answers what `get` and `gather` ask: which kinds are served, and their objects as Tables of a server. */
export function answersTables(objects: readonly KubeObject[]): Answer {
  const groups = Map.groupBy(objects, ({ apiVersion, kind }) => `${apiVersion} ${kind}`);
  const tables = [...groups.values()].map(tableOf);
  return ({ method, path, accept, query }) => {
    if (method !== "GET") return undefined;
    if (path === "/api" || path === "/apis") {
      const isCore = path === "/api";
      return { body: discoveryOf(tables, ({ group }) => (group === "") === isCore) };
    }
    const table = accept.includes("as=Table")
      ? tables.find(({ kind: { plural } }) => path.split("/").at(-1) === plural)
      : undefined;
    if (table === undefined) return undefined;
    const [, namespace] = /\/namespaces\/([^/]+)\//.exec(path) ?? [];
    const labelSelector = query?.get("labelSelector") ?? undefined;
    return { body: tableAnswer(table, { namespace, labelSelector }) };
  };
}

function tableOf(objects: readonly KubeObject[]): RecordedTable {
  const [first] = objects;
  if (first === undefined) throw new Error("A kind has objects");
  const { apiVersion, kind } = first;
  const resource = tableResource(apiVersion, kind);
  if (resource === undefined) throw new Error(`${kind} is not known`);
  const { plural, namespaced } = resource;
  const words = [plural, kind.toLowerCase()];
  return {
    kind: {
      apiVersion,
      group: groupOf(apiVersion),
      kind,
      plural,
      namespaced,
      words,
      categories: [],
    },
    columns: [{ name: "Name", priority: 0 }],
    rows: objects.map((object) => ({ cells: [object.metadata.name], object: { ...object } })),
    unread: [],
  };
}
