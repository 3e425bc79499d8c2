import type { Seen } from "../fault.ts";

/** A right as RBAC has it, in the whole cluster. */
export interface AskedRight {
  readonly verb: string;
  readonly group: string;
  /** With the subresource: `serviceaccounts/token`. */
  readonly resource: string;
}

/** The right that a request needs. Undefined: its path is none of a resource. */
export function rightOf({ method, path, isWatch }: Asked): AskedRight | undefined {
  const [place = ""] = path.split("?");
  const match = /^\/(?:api|apis\/([^/]+))\/v[^/]+\/(.+)$/.exec(place);
  const [, group = "", rest = ""] = match ?? [];
  const parts = rest.split("/");
  const [first = "", , ...inNamespace] = parts;
  const isNamespaced = first === "namespaces" && inNamespace.length > 0;
  const [resource = "", name, subresource] = isNamespaced ? inNamespace : parts;
  if (resource === "" || isReview(path)) return undefined;
  const whole = subresource === undefined ? resource : `${resource}/${subresource}`;
  return { verb: verbOf(method, { isNamed: name !== undefined, isWatch }), group, resource: whole };
}

type Asked = Pick<Seen, "method" | "path" | "isWatch">;

/** Whether a request asks the API server about rights or identities. Everybody may, and nothing is written. */
function isReview(path: string): boolean {
  return /reviews(?:\?|$)/.test(path);
}

function verbOf(
  method: string,
  { isNamed, isWatch }: { readonly isNamed: boolean; readonly isWatch: boolean },
): string {
  if (method === "GET" && isWatch) return "watch";
  if (method === "GET") return isNamed ? "get" : "list";
  if (method === "DELETE") return isNamed ? "delete" : "deletecollection";
  return { POST: "create", PUT: "update", PATCH: "patch" }[method] ?? method.toLowerCase();
}

/** What an API server says to somebody without the right for a request. */
export function deniedText(asked: Asked): string {
  const right = rightOf(asked);
  if (right === undefined)
    return `forbidden: User "bench" cannot ${asked.method} path "${asked.path}"`;
  const { verb, group, resource } = right;
  return `${resource} is forbidden: User "bench" cannot ${verb} resource "${resource}" in API group "${group}"`;
}

/** A request without what differs from run to run: the query, and the end of a name that is drawn. */
export function stablePath(path: string): string {
  const [place = ""] = path.split("?");
  return place.replace(/-(token|diagnose)-[0-9a-f]{6}$/, "-$1-*");
}
