import { parseLabelSelector } from "../../api/label-selector.ts";
import type { ResourceType } from "../../api/resources.ts";
import { valueAt } from "../fleet/json-record.ts";
import { type Shape, shapeOf } from "./answers.ts";
import { servedKind } from "./kinds.ts";
import type { ObjectStore, StoredObject } from "./object-store.ts";

/** A request to a virtual spoke, taken apart. */
export interface SpokeRequest {
  readonly method: string;
  /** As in audit logs. */
  readonly verb: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Undefined for paths that are about no objects. */
  readonly kind: ResourceType | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** Whether an object of the kind is one that a collection request asks for. */
  readonly selects: (object: StoredObject) => boolean;
  readonly shape: Shape;
  readonly contentType: string;
  readonly manager: string;
  readonly isDryRun: boolean;
  readonly body: unknown;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Takes the head of a request apart. Spec: Kubernetes API concepts, resource URIs. */
export function spokeRequestOf(store: ObjectStore, headers: Headers): Omit<SpokeRequest, "body"> {
  const text = (name: string): string => String(headers[name] ?? "");
  const url = new URL(text(":path"), "https://spoke");
  const method = text(":method");
  const place = placeOf(store, url.pathname);
  const isWatch = ["1", "true"].includes(url.searchParams.get("watch") ?? "");
  return {
    method,
    verb: verbOf(place, method, isWatch),
    path: url.pathname,
    query: url.searchParams,
    ...place,
    selects: selectionOf(place.namespace, url.searchParams),
    shape: shapeOf(text("accept")),
    contentType: text("content-type"),
    manager:
      url.searchParams.get("fieldManager") ?? (text("user-agent").split("/", 1)[0] || "unknown"),
    isDryRun: url.searchParams.has("dryRun"),
  };
}

type Place = Pick<SpokeRequest, "kind" | "namespace" | "name" | "subresource">;
const nowhere: Place = {
  kind: undefined,
  namespace: undefined,
  name: undefined,
  subresource: undefined,
};

function placeOf(store: ObjectStore, path: string): Place {
  const parts = path.split("/").slice(1).map(decodeURIComponent);
  const isCore = parts[0] === "api";
  const apiVersion = isCore ? (parts[1] ?? "") : `${parts[1]}/${parts[2]}`;
  const rest = parts.slice(isCore ? 2 : 3);
  const isBelow = rest[0] === "namespaces" && rest.length > 2;
  const [namespace, [plural = "", name, subresource]] = isBelow
    ? [rest[1], rest.slice(2)]
    : [undefined, rest];
  const kind = servedKind(store, { apiVersion, plural });
  // `/api/v1/namespaces/NAME/status` looks like something in a namespace.
  if (kind === undefined && isBelow) {
    const namespaces = servedKind(store, { apiVersion, plural: "namespaces" });
    return { kind: namespaces, namespace: undefined, name: rest[1], subresource: rest[2] };
  }
  return kind === undefined ? nowhere : { kind, namespace, name, subresource };
}

/** Namespace, selectors and exact version. Spec: Kubernetes API concepts. */
function selectionOf(
  namespace: string | undefined,
  query: URLSearchParams,
): SpokeRequest["selects"] {
  const fields = fieldsOf(query.get("fieldSelector") ?? "");
  const fitsLabels = parseLabelSelector(query.get("labelSelector") ?? "");
  // What was deleted since is missing from an older version, which nobody asks a virtual spoke about.
  const isExact = query.get("resourceVersionMatch") === "Exact";
  const newest = isExact ? Number(query.get("resourceVersion")) : Infinity;
  return ({ metadata, ...object }) =>
    (namespace === undefined || metadata.namespace === namespace) &&
    fields.every(({ path, value, isEqual }) => {
      return ((valueAt({ ...object, metadata }, ...path) ?? "") === value) === isEqual;
    }) &&
    Number(metadata.resourceVersion) <= newest &&
    fitsLabels(metadata.labels ?? {});
}

interface FieldTerm {
  readonly path: readonly string[];
  readonly value: string;
  /** `=`, and not `!=`. */
  readonly isEqual: boolean;
}

function fieldsOf(selector: string): readonly FieldTerm[] {
  const terms = selector.split(",").filter((term) => term !== "");
  return terms.map((term) => {
    const [path = "", value = ""] = term.split(/!=|==?/, 2);
    return { path: path.split("."), value, isEqual: !term.includes("!=") };
  });
}

// Kinds that are reviewed and not stored.
const reviews: readonly string[] = [
  "selfsubjectreviews",
  "selfsubjectaccessreviews",
  "selfsubjectrulesreviews",
];

/** Whether a path is about a review of the caller. */
export function isReview(path: string): boolean {
  return reviews.includes(path.split("/").at(-1) ?? "");
}

function verbOf({ kind, name }: Place, method: string, isWatch: boolean): string {
  const isOfObjects = kind !== undefined;
  switch (method) {
    case "GET":
      if (!isOfObjects || name !== undefined) return "get";
      return isWatch ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "DELETE":
      return name === undefined ? "deletecollection" : "delete";
    default:
      return method.toLowerCase();
  }
}
