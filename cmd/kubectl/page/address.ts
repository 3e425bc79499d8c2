import { type FleetFilter, pageStates } from "./fleet-view.ts";

/** Which page an address is. */
export type Route =
  | { readonly page: "fleet"; readonly filter: FleetFilter }
  | { readonly page: "clusters"; readonly key: "" }
  /** `key`: of `keyOf`. */
  | { readonly page: "installation" | "set"; readonly key: string }
  /** `key`: of `clusterKey`. */
  | { readonly page: "cluster"; readonly key: string };

const lengths: ReadonlyMap<string, number> = new Map([
  ["installation", 3],
  ["set", 3],
  ["cluster", 2],
  ["clusters", 0],
]);

/** The page of the part of an address behind `#`. What is not understood is the fleet. */
export function routeOf(hash: string): Route {
  const [path = "", ...query] = hash.replace(/^#/, "").split("?");
  const [, page = "", ...parts] = path.split("/");
  const key = parts.join("/");
  const isKnown = lengths.get(page) === parts.length && parts.every(isEncoded);
  if (isKnown && (page === "installation" || page === "set")) return { page, key };
  if (isKnown && page === "cluster") return { page, key };
  if (isKnown && page === "clusters") return { page, key: "" };
  return { page: "fleet", filter: filterOf(new URLSearchParams(query.join("?"))) };
}

function isEncoded(text: string): boolean {
  try {
    return text !== "" && encodeURIComponent(decodeURIComponent(text)) === text;
  } catch {
    return false;
  }
}

function filterOf(query: URLSearchParams): FleetFilter {
  const state = pageStates.find(({ name }) => name === query.get("state"))?.name ?? null;
  return { text: query.get("filter") ?? "", state };
}

/** The address of the fleet under a filter, so that it can be passed on and comes back with the back button. */
export function fleetAddress({ text, state }: FleetFilter): string {
  const query = new URLSearchParams({
    ...(text.trim() === "" ? {} : { filter: text.trim() }),
    ...(state === null ? {} : { state }),
  });
  return query.size === 0 ? "#/" : `#/?${query.toString()}`;
}
