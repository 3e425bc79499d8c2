import type { AuditedRequest } from "../fleet/audit-log.ts";
import type { Cluster } from "../fleet/fleet.ts";

const userAgent = "knfleet-controller";
/** The verbs of audit logs that change what is stored. */
export const writingVerbs: readonly string[] = [
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];

/**
 * What the controller sent to a cluster, in the order of receipt; without what the guard of the anchor needs, and without the question how the
 * cluster is, which it is asked when it says nothing for a while.
 */
export async function requestsTo(
  cluster: Cluster,
  since?: Date,
): Promise<readonly AuditedRequest[]> {
  const all = await allTo(cluster, since);
  return all.filter((request) => !isOfGuard(request) && !isQuestion(request));
}

/** What the controller wrote to a cluster; without what the guard of the anchor needs, which `guardWritesTo` tells. */
export async function writesTo(cluster: Cluster, since?: Date): Promise<readonly AuditedRequest[]> {
  const requests = await requestsTo(cluster, since);
  return requests.filter(({ verb }) => writingVerbs.includes(verb));
}

/** What the controller sent to a cluster to guard anchors; see docs/anchor.md. */
export async function guardRequestsTo(
  cluster: Cluster,
  since?: Date,
): Promise<readonly AuditedRequest[]> {
  return (await allTo(cluster, since)).filter(isOfGuard);
}

/** What the controller wrote to a cluster to guard anchors; without dry runs, which write nothing. */
export async function guardWritesTo(
  cluster: Cluster,
  since?: Date,
): Promise<readonly AuditedRequest[]> {
  const requests = await guardRequestsTo(cluster, since);
  return requests.filter((request) => isOfPolicies(request) && writingVerbs.includes(request.verb));
}

/** How often the controller asked a cluster how it is. */
export async function questionsTo(cluster: Cluster, since?: Date): Promise<number> {
  return (await allTo(cluster, since)).filter(isQuestion).length;
}

function allTo(cluster: Cluster, since?: Date): Promise<readonly AuditedRequest[]> {
  return cluster.auditLog.requests({ userAgent, ...(since === undefined ? {} : { since }) });
}

/** Returns a function that takes one request after the other, and tells whether an earlier one opened the same watch. A busy server may end a watch; the controller opens it again. */
export function watchesSeenBefore(): (request: AuditedRequest) => boolean {
  const seen = new Set<string>();
  return ({ verb, uri }) => {
    if (verb !== "watch") return false;
    const { pathname, searchParams } = new URL(uri, "https://localhost");
    const selectors = ["labelSelector", "fieldSelector"].map((name) => searchParams.get(name));
    const watch = [pathname, ...selectors].join(" ");
    const isSeen = seen.has(watch);
    seen.add(watch);
    return isSeen;
  };
}

function isQuestion({ uri }: AuditedRequest): boolean {
  return uri === "/readyz";
}

/** Policies and bindings, who we are, whether policies are served, and probes, which are dry runs. */
function isOfGuard(request: AuditedRequest): boolean {
  const { resource, uri } = request;
  return (
    isOfPolicies(request) ||
    isDryRun(request) ||
    resource === "selfsubjectreviews" ||
    uri === "/apis/admissionregistration.k8s.io/v1"
  );
}

/** Policies and bindings; a dry run of them is none. */
function isOfPolicies(request: AuditedRequest): boolean {
  return request.resource.startsWith("validatingadmissionpolic") && !isDryRun(request);
}

function isDryRun({ uri }: AuditedRequest): boolean {
  return /[?&]dryRun=All\b/.test(uri);
}
