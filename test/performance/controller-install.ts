import { setTimeout as delay } from "node:timers/promises";

import { create, gone, ready, remove } from "../e2e/installation.ts";
import { requestsTo } from "../e2e/requests.ts";
import type { AuditedRequest } from "../fleet/audit-log.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { usageOf } from "./process-usage.ts";
import type { Subject, Workbench } from "./workbench.ts";

/** One installation by the controller, from the creation of the component on the hub. */
export interface ControllerRun {
  /** To the answer of the write that applied the last object; the record of that on the anchor comes after it. */
  readonly appliedMs: number;
  /** To the answer of the first status write. */
  readonly firstStatusMs: number;
  /** To the answer of the status write that said Ready. */
  readonly readyMs: number;
  /** From the write on the spoke by which the last Deployment became available to that status write. */
  readonly readyAfterAvailableMs: number;
  /** All requests to the spoke by verb, watches and retries included. */
  readonly requests: Readonly<Record<string, number>>;
  /** Most successful writes that any one object got; the anchor is left out, which gets two by design. */
  readonly mostWritesOfAnObject: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly cpuMs: number;
}

/** One removal, from the deletion of the component on the hub. */
export interface RemovalRun {
  /** To the answer of the write that let the component go, which comes after everything is verified. */
  readonly elapsedMs: number;
  /** To the spoke, without watches. */
  readonly requests: number;
  /** Deletions on the spoke after that of the anchor. */
  readonly afterAnchor: number;
}

const writing = ["create", "update", "patch"];

/** Creates the component, waits until it is Ready, and reads from the servers' audit logs when what happened. */
export async function installWithController(
  { fleet, controller }: Workbench,
  { kind, profile, spoke }: Subject,
): Promise<ControllerRun> {
  const { hub } = fleet;
  spoke.proxy.resetCounts();
  const since = new Date();
  const before = await usageOf(controller.pid);
  await create(hub, { kind, on: profile });
  await ready(hub, kind, 180_000);
  await logged();
  const after = await usageOf(controller.pid);
  const requests = await requestsTo(spoke, since);
  const created = await askedAt(hub, kind, { verb: "create", since });
  const statuses = await statusWrites(hub, kind, since);
  const readyAt = lastOf(statuses).getTime();
  const writes = requests.filter(({ verb, code }) => writing.includes(verb) && code < 300);
  const { bytesUp, bytesDown } = spoke.proxy.counts;
  return {
    appliedMs: lastOf(writes.filter(isOfObject)).getTime() - created,
    firstStatusMs: Math.min(...statuses.map(({ answeredAt }) => answeredAt.getTime())) - created,
    readyMs: readyAt - created,
    readyAfterAvailableMs: readyAt - (await lastAvailableAt(spoke, { since, until: readyAt })),
    requests: countByVerb(requests),
    mostWritesOfAnObject: mostWrites(writes),
    sentBytes: bytesUp,
    receivedBytes: bytesDown,
    cpuMs: after.cpuMs - before.cpuMs,
  };
}

/** Deletes the component and waits until it is gone from the hub, which means from the spoke too. */
export async function removeWithController(
  { fleet: { hub } }: Workbench,
  { kind, spoke }: Subject,
): Promise<RemovalRun> {
  const since = new Date();
  await remove(hub, kind);
  await gone(hub, kind, 180_000);
  await logged();
  const deleted = await askedAt(hub, kind, { verb: "delete", since });
  const onHub = (await requestsTo(hub, since)).filter(
    ({ resource, verb, subresource, code }) =>
      resource === pluralOf(kind) &&
      verb === "patch" &&
      subresource === "" &&
      // Ended by the controller, which saw the component go before it had the answer.
      (code < 300 || code === 504),
  );
  const requests = (await requestsTo(spoke, since)).filter(({ verb }) => verb !== "watch");
  const deletions = requests.filter(({ verb }) => verb.startsWith("delete"));
  const anchor = deletions.findIndex((request) => !isOfObject(request));
  return {
    elapsedMs: lastOf(onHub).getTime() - deleted,
    requests: requests.length,
    afterAnchor: anchor < 0 ? deletions.length : deletions.length - 1 - anchor,
  };
}

/** What a write did can be seen before its answer is sent, and logged. */
function logged(): Promise<void> {
  return delay(500);
}

function pluralOf(kind: string): string {
  return `${kind.toLowerCase()}s`;
}

async function askedAt(
  hub: Cluster,
  kind: string,
  filter: { readonly verb: string; readonly since: Date },
): Promise<number> {
  const resource = pluralOf(kind);
  const [first] = await hub.auditLog.requests({ resource, ...filter });
  if (first === undefined)
    throw new Error(`The hub's audit log has no ${filter.verb} of ${resource}`);
  return first.receivedAt.getTime();
}

async function statusWrites(
  hub: Cluster,
  kind: string,
  since: Date,
): Promise<readonly AuditedRequest[]> {
  const written = await requestsTo(hub, since);
  return written.filter(
    ({ resource, subresource, code }) =>
      resource === pluralOf(kind) && subresource === "status" && code < 300,
  );
}

/** When the last status of a Deployment was written before the component was said to be Ready. */
async function lastAvailableAt(
  spoke: Cluster,
  { since, until }: { readonly since: Date; readonly until: number },
): Promise<number> {
  const written = await spoke.auditLog.requests({
    resource: "deployments",
    verb: ["update", "patch"],
    since,
    until: new Date(until),
  });
  return lastOf(
    written.filter(
      ({ subresource, code, answeredAt }) =>
        subresource === "status" && code < 300 && answeredAt.getTime() <= until,
    ),
  ).getTime();
}

function lastOf(requests: readonly AuditedRequest[]): Date {
  const times = requests.map(({ answeredAt }) => answeredAt.getTime());
  if (times.length === 0) throw new Error("The audit log has no such request");
  return new Date(Math.max(...times));
}

function countByVerb(requests: readonly AuditedRequest[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { verb } of requests) counts[verb] = (counts[verb] ?? 0) + 1;
  return counts;
}

function isOfObject({ name }: AuditedRequest): boolean {
  return !name.endsWith("-root-owner");
}

function mostWrites(writes: readonly AuditedRequest[]): number {
  const counts = new Map<string, number>();
  for (const { resource, namespace, name } of writes.filter(isOfObject)) {
    const id = [resource, namespace, name].join("/");
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}
