import { isRecord, valueAt } from "./json-record.ts";

/** How a kind is named in paths; undefined when the server does not serve it. */
export type Plurals = (
  apiVersion: string,
  kind: string,
) => Promise<{ readonly plural: string; readonly namespaced: boolean } | undefined>;

type Found = { readonly plural: string; readonly namespaced: boolean };

/** Asks a server for its kinds and remembers those it has; a missing one is asked for again each time. */
export function discoverPlurals(get: (path: string) => Promise<unknown>): Plurals {
  const known = new Map<string, Found>();
  return async (apiVersion, kind) => {
    const id = `${apiVersion} ${kind}`;
    const remembered = known.get(id);
    if (remembered !== undefined) return remembered;
    const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const list = await get(path).catch((error: unknown) => {
      if (valueAt(error, "status") === 404) return undefined;
      throw error;
    });
    for (const [name, found] of kindsOf(list)) known.set(`${apiVersion} ${name}`, found);
    return known.get(id);
  };
}

function kindsOf(list: unknown): [kind: string, found: Found][] {
  const resources = valueAt(list, "resources");
  if (!Array.isArray(resources)) return [];
  return resources.flatMap((resource: unknown): [string, Found][] => {
    if (!isRecord(resource)) return [];
    const { name, kind } = resource;
    // Subresources are listed too, as `deployments/scale`, some with the kind of another resource.
    if (typeof name !== "string" || typeof kind !== "string" || name.includes("/")) return [];
    return [[kind, { plural: name, namespaced: resource["namespaced"] === true }]];
  });
}
