import { randomUUID } from "node:crypto";

import { componentUidLabel } from "../../installation/anchor.ts";
import type { StubAnswer, StubRequest } from "../access/api-stub.ts";

/** What a lying spoke says in its watches, and of the objects that it is sent. */
export interface Lie {
  readonly what: string;
  /** The events of a watch of a kind, without end, for a component with this uid. Undefined: the watch has an empty list and says nothing more. */
  readonly event?: (at: number, watched: Watched) => object | undefined;
  /** Whether it has more objects than may be kept within a minute. */
  readonly exceeds?: true;
  /** Whether each answer shows another object. */
  readonly changesUids?: true;
}

interface Watched {
  readonly plural: string;
  readonly owner: string;
}

const filler = "x".repeat(150_000);

/** Four ways to take the memory or the processor of whoever watches. */
export const lies: readonly Lie[] = [
  {
    what: "Deployments of 150 kB without end",
    event: (at, { plural, owner }) =>
      plural === "deployments"
        ? added(`d-${at}`, owner, { fields: { spec: { filler }, status: { filler } } })
        : undefined,
  },
  {
    what: "names without end",
    event: (at, { owner }) => added(`${at}-${"n".repeat(240)}`, owner),
    exceeds: true,
  },
  {
    what: "events of one object without end",
    event: (at, { owner }) =>
      at === 1 ? listed : { ...added("one", owner, { version: at }), type: "MODIFIED" },
  },
  {
    what: "uids that change with each answer",
    event: (at, { owner }) => (at === 1 ? listed : added("one", owner, { version: at })),
    changesUids: true,
  },
];

const listed = {
  type: "BOOKMARK",
  object: {
    metadata: { resourceVersion: "1", annotations: { "k8s.io/initial-events-end": "true" } },
  },
};

function added(
  name: string,
  owner: string,
  { fields = {}, version = 1 }: { readonly fields?: object; readonly version?: number } = {},
): object {
  const resourceVersion = String(version);
  const labels = { [componentUidLabel]: owner };
  const metadata = { namespace: "n", name, uid: randomUUID(), resourceVersion, labels };
  return { type: "ADDED", object: { metadata, ...fields } };
}

/** Answers as an API server that takes everything it is sent, and lies. */
export function liar({ event, changesUids }: Lie): (request: StubRequest) => StubAnswer {
  const cluster = randomUUID();
  const stored = new Map<string, object>([["/api/v1/namespaces/kube-system", {}]]);
  let version = 1;
  return ({ method, path, body }) => {
    const { pathname, searchParams } = new URL(path, "https://liar");
    if (pathname === "/version") return answer({ gitVersion: "v1.36.3" });
    if (pathname === "/readyz") return answer({});
    if (searchParams.has("watch")) return watchAnswer(pathname, searchParams, event);
    const sent = sentIn(body);
    if (sent === undefined) return { ...answer({ kind: "Status", code: 400 }), status: 400 };
    const at = method === "POST" ? `${pathname}/${nameIn(sent)}` : pathname;
    const place = placeOf(at);
    if (place === undefined) return answer({ metadata: { resourceVersion: "1" }, items: [] });
    if (["POST", "PUT", "PATCH"].includes(method)) stored.set(at, sent);
    const known = stored.get(at);
    if (known === undefined) return { ...answer({ kind: "Status", code: 404 }), status: 404 };
    if (method === "DELETE") stored.delete(at);
    version += 1;
    const uid = changesUids === true ? randomUUID() : `${cluster} ${at}`.slice(0, 250);
    const metadata = { ...metadataIn(known), ...place, uid, resourceVersion: String(version) };
    return answer({ ...known, metadata });
  };
}

function watchAnswer(pathname: string, query: URLSearchParams, event: Lie["event"]): StubAnswer {
  const [owner = ""] = /[\da-f]{8}-[\da-f-]{27}/.exec(query.get("labelSelector") ?? "") ?? [];
  const watched = { plural: pathname.split("/").at(-1) ?? "", owner };
  const quiet: StubAnswer = { body: `${JSON.stringify(listed)}\n`, open: true };
  if (event?.(0, watched) === undefined || owner === "") return quiet;
  return { body: "", endless: (at) => `${JSON.stringify(event(at, watched))}\n` };
}

function answer(body: object): StubAnswer {
  return { body: JSON.stringify(body) };
}

/** Namespace and name of the object at a path; undefined for a collection. */
function placeOf(pathname: string): object | undefined {
  const parts = pathname.split("/").slice(pathname.startsWith("/api/") ? 3 : 4);
  if (parts[0] !== "namespaces" || parts.length < 3) {
    return parts.length === 2 ? { name: parts[1] } : undefined;
  }
  return parts.length < 4 ? undefined : { namespace: parts[1], name: parts[3] };
}

/** What a request says; undefined for half of it, as a client sends that gives up while it writes. */
function sentIn(body: string): object | undefined {
  try {
    return body === "" ? {} : Object(JSON.parse(body));
  } catch {
    return undefined;
  }
}

function nameIn(object: unknown): string {
  const metadata = metadataIn(object);
  return "name" in metadata ? String(metadata.name) : "";
}

function metadataIn(object: unknown): object {
  return typeof object === "object" && object !== null && "metadata" in object
    ? Object(object.metadata)
    : {};
}
