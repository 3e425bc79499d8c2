import { isRecord, recordAt, textAt } from "../../api/fields.ts";

/** The user who sent the reviewed request, as the API server authenticated it. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The request that an API server asks about. Type: `AdmissionRequest` of `admission.k8s.io/v1`. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: GroupVersionKind;
  readonly resource: {
    readonly group: string;
    readonly version: string;
    readonly resource: string;
  };
  readonly subResource: string | undefined;
  /** Absent on each element of a collection delete and, before it is generated, on a create. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly userInfo: UserInfo;
  /** Undefined on DELETE. */
  readonly object: Readonly<Record<string, unknown>> | undefined;
  /** Undefined on CREATE. */
  readonly oldObject: Readonly<Record<string, unknown>> | undefined;
  readonly dryRun: boolean;
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** One thing that is wrong with an object. */
export interface Violation {
  /** Name of the rule; a label on a metric. */
  readonly rule: string;
  /** The field, for example `spec.clusterProfileRef.name`; empty: the request as a whole. */
  readonly path: string;
  readonly message: string;
  /** 403 not permitted, 409 in conflict with another object, 422 not valid, 500 could not be decided. */
  readonly code: 403 | 409 | 422 | 500;
}

/** The decision about a request. It is allowed when there is no violation. */
export interface Ruling {
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
}

/** The request in a review, or one sentence about what is wrong with the review. Security: T-71. */
export function admissionRequestOf(body: unknown): AdmissionRequest | string {
  if (!isRecord(body) || body["kind"] !== "AdmissionReview") return "want an AdmissionReview";
  if (body["apiVersion"] !== "admission.k8s.io/v1") return "want apiVersion admission.k8s.io/v1";
  const { request } = body;
  if (!isRecord(request)) return "the review has no request";
  const { uid } = request;
  if (typeof uid !== "string" || uid === "") return "the request has no uid";
  const operation = operations.find((known) => known === request["operation"]);
  if (operation === undefined) return "the request has no known operation";
  const user = userOf(request["userInfo"]);
  if (user === undefined) return "the request has no userInfo";
  const kind = textsAt(request["kind"], "kind");
  const resource = textsAt(request["resource"], "resource");
  if (kind === undefined || resource === undefined) return "the request has no kind or resource";
  return {
    uid,
    kind: { group: kind[0], version: kind[1], kind: kind[2] },
    resource: { group: resource[0], version: resource[1], resource: resource[2] },
    subResource: textOf(request["subResource"]),
    name: textOf(request["name"]),
    namespace: textOf(request["namespace"]),
    operation,
    userInfo: user,
    object: recordOf(request["object"]),
    oldObject: recordOf(request["oldObject"]),
    dryRun: request["dryRun"] === true,
  };
}

/** Namespace and name of the object of a request; empty while nobody has made them. */
export function placeOf({ namespace, name, object }: AdmissionRequest) {
  const metadata = recordAt(object, "metadata");
  return {
    namespace: namespace ?? textAt(metadata, "namespace") ?? "",
    name: name ?? textAt(metadata, "name") ?? "",
  };
}

const operations = ["CREATE", "UPDATE", "DELETE", "CONNECT"] as const;

function userOf(value: unknown): UserInfo | undefined {
  if (!isRecord(value)) return undefined;
  const { username, uid, groups, extra } = value;
  if (username !== undefined && typeof username !== "string") return undefined;
  return {
    username: username ?? "",
    ...(typeof uid === "string" ? { uid } : {}),
    groups: textsOf(groups),
    extra: isRecord(extra)
      ? Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, textsOf(values)]))
      : {},
  };
}

/** Group, version and a third text of a record. The group may be absent: it is the core group then. */
function textsAt(
  value: unknown,
  last: "kind" | "resource",
): readonly [string, string, string] | undefined {
  if (!isRecord(value)) return undefined;
  const { group = "", version, [last]: word } = value;
  if (typeof group !== "string" || typeof version !== "string" || typeof word !== "string") {
    return undefined;
  }
  return [group, version, word];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) ? value : undefined;
}
