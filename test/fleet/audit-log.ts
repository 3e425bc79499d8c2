import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { open } from "node:fs/promises";

import { isRecord, valueAt } from "./json-record.ts";
import { waitFor } from "./wait-for.ts";

/** One request that an API server answered, or began to answer when it is a watch. */
export interface AuditedRequest {
  readonly auditId: string;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; lower-case method for non-resources. */
  readonly verb: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  /** Plural, `pods` or `deployments`; empty for requests such as `/readyz`. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uri: string;
  readonly user: string;
  readonly userAgent: string;
  /** HTTP status; 0 when the server wrote none. */
  readonly code: number;
  readonly receivedAt: Date;
  /** When the answer was complete; for a running watch when it began. */
  readonly answeredAt: Date;
}

/** Which requests are meant. Strings are compared with `includes`. */
export interface AuditFilter {
  readonly user?: string | RegExp;
  readonly userAgent?: string | RegExp;
  readonly verb?: string | readonly string[];
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Only requests received at this time or later. */
  readonly since?: Date;
  /** Only requests received before this time. */
  readonly until?: Date;
}

/** What an API server was asked, exactly, from its audit log. */
export interface AuditLog {
  /** All answered requests and open watches that match, in the order of receipt. Complete up to the moment of the call. */
  requests(filter?: AuditFilter): Promise<readonly AuditedRequest[]>;
  /** How many of them there are of each verb. */
  countByVerb(filter?: AuditFilter): Promise<Readonly<Record<string, number>>>;
}

/**
 * Reads an audit log that grows. `ping` sends the server a request with the given marker in its path: an event is
 * written after its answer was sent, so the log is complete only when a later request is in it too. With `since` the log has only
 * requests that were received from now on.
 */
export function openAuditLog(
  file: string,
  ping: (path: string) => Promise<unknown>,
  since = new Date(0),
): AuditLog {
  const seen = new Map<string, AuditedRequest>();
  const read = lineReader(file, since.getTime() === 0 ? 0 : statSync(file).size);
  const update = async () => {
    for (const line of await read()) {
      const request = requestOf(JSON.parse(line));
      // A watch is written twice, when it begins and when it ends; the second time is final.
      if (request !== undefined && request.receivedAt >= since) {
        seen.set(request.auditId, request);
      }
    }
  };
  const catchUp = async () => {
    const marker = randomUUID();
    await ping(`/readyz/ping?marker=${marker}`);
    await waitFor("the audit log to be complete", async () => {
      await update();
      return [...seen.values()].some((request) => request.uri.endsWith(marker));
    });
  };
  const requests = async (filter: AuditFilter = {}) => {
    await catchUp();
    return [...seen.values()]
      .filter((request) => !request.uri.startsWith("/readyz/ping?marker="))
      .filter((request) => matches(request, filter))
      .toSorted((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime());
  };
  return {
    requests,
    async countByVerb(filter) {
      const counts: Record<string, number> = {};
      for (const { verb } of await requests(filter)) counts[verb] = (counts[verb] ?? 0) + 1;
      return counts;
    },
  };
}

/** Returns the complete lines that were added since the last call. The line that `start` is in the middle of is left out. */
function lineReader(file: string, start: number): () => Promise<readonly string[]> {
  let position = Math.max(0, start - 1);
  let isWithinLine = start > 0;
  let rest = Buffer.alloc(0);
  const readOn = async () => {
    await using handle = await open(file, "r");
    const { size } = await handle.stat();
    const chunk = Buffer.alloc(size - position);
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    position += bytesRead;
    const whole = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    const end = whole.lastIndexOf(10) + 1;
    rest = whole.subarray(end);
    const lines = whole.toString("utf8", 0, end).split("\n");
    if (isWithinLine && end > 0) {
      lines.shift();
      isWithinLine = false;
    }
    return lines.filter(Boolean);
  };
  let turn: Promise<unknown> = Promise.resolve();
  return () => {
    const mine = turn.then(readOn, readOn);
    turn = mine;
    return mine;
  };
}

function matches(request: AuditedRequest, filter: AuditFilter): boolean {
  const { verb, since, until } = filter;
  const verbs = typeof verb === "string" ? [verb] : verb;
  return (
    contains(request.user, filter.user) &&
    contains(request.userAgent, filter.userAgent) &&
    (verbs === undefined || verbs.includes(request.verb)) &&
    equals(request.resource, filter.resource) &&
    equals(request.namespace, filter.namespace) &&
    equals(request.name, filter.name) &&
    (since === undefined || request.receivedAt >= since) &&
    (until === undefined || request.receivedAt < until)
  );
}

function contains(value: string, wanted: string | RegExp | undefined): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === "string" ? value.includes(wanted) : wanted.test(value);
}

function equals(value: string, wanted: string | undefined): boolean {
  return wanted === undefined || value === wanted;
}

function requestOf(event: unknown): AuditedRequest | undefined {
  if (!isRecord(event)) return undefined;
  const auditId = textOf(event["auditID"]);
  const object = event["objectRef"];
  return {
    auditId,
    verb: textOf(event["verb"]),
    apiGroup: textOf(valueAt(object, "apiGroup")),
    apiVersion: textOf(valueAt(object, "apiVersion")),
    resource: textOf(valueAt(object, "resource")),
    subresource: textOf(valueAt(object, "subresource")),
    namespace: textOf(valueAt(object, "namespace")),
    name: textOf(valueAt(object, "name")),
    uri: textOf(event["requestURI"]),
    user: textOf(valueAt(event, "user", "username")),
    userAgent: textOf(event["userAgent"]),
    code: Number(valueAt(event, "responseStatus", "code") ?? 0),
    receivedAt: new Date(textOf(event["requestReceivedTimestamp"])),
    answeredAt: new Date(textOf(event["stageTimestamp"])),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
