import type { AuditedRequest } from "../fleet/audit-log.ts";
import type { Cluster } from "../fleet/fleet.ts";

const userAgent = "knfleet-controller";
const writing = ["create", "update", "patch", "delete", "deletecollection"];

/** What the controller sent to a cluster, in the order of receipt. */
export function requestsTo(cluster: Cluster, since?: Date): Promise<readonly AuditedRequest[]> {
  return cluster.auditLog.requests({ userAgent, ...(since === undefined ? {} : { since }) });
}

/** What the controller wrote to a cluster. */
export function writesTo(cluster: Cluster, since?: Date): Promise<readonly AuditedRequest[]> {
  return cluster.auditLog.requests({
    userAgent,
    verb: writing,
    ...(since === undefined ? {} : { since }),
  });
}
