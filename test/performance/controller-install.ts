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
  /** To the answer of the status write that said Ready. */
  readonly readyMs: number;
  /** All requests to the spoke by verb, watches and retries included. */
  readonly requests: Readonly<Record<string, number>>;
  /** Most successful writes that any one object got; the anchor is left out, which gets two by design. */
  readonly mostWritesOfAnObject: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly cpuMs: number;
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
  const after = await usageOf(controller.pid);
  const requests = await requestsTo(spoke, since);
  const created = await createdAt(hub, kind, since);
  const writes = requests.filter(({ verb, code }) => writing.includes(verb) && code < 300);
  const { bytesUp, bytesDown } = spoke.proxy.counts;
  return {
    appliedMs: lastOf(writes.filter(isOfObject)).getTime() - created,
    readyMs: (await statusWrittenAt(hub, kind, since)) - created,
    requests: countByVerb(requests),
    mostWritesOfAnObject: mostWrites(writes),
    sentBytes: bytesUp,
    receivedBytes: bytesDown,
    cpuMs: after.cpuMs - before.cpuMs,
  };
}

/** Deletes the component and waits until it is gone from the hub, which means from the spoke too. */
export async function removeWithController(
  { fleet }: Workbench,
  { kind }: Subject,
): Promise<number> {
  const startedAt = performance.now();
  await remove(fleet.hub, kind);
  await gone(fleet.hub, kind, 180_000);
  return performance.now() - startedAt;
}

async function createdAt(hub: Cluster, kind: string, since: Date): Promise<number> {
  const resource = `${kind.toLowerCase()}s`;
  const created = await hub.auditLog.requests({ resource, verb: "create", since });
  const [first] = created;
  if (first === undefined) throw new Error(`The hub's audit log has no create of ${resource}`);
  return first.receivedAt.getTime();
}

async function statusWrittenAt(hub: Cluster, kind: string, since: Date): Promise<number> {
  const written = await requestsTo(hub, since);
  return lastOf(
    written.filter(
      ({ resource, subresource, code }) =>
        resource === `${kind.toLowerCase()}s` && subresource === "status" && code < 300,
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
