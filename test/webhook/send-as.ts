import { Agent } from "node:https";

import type { Cluster } from "../fleet/fleet.ts";
import { exchange } from "../fleet/https-exchange.ts";
import { valueAt } from "../fleet/json-record.ts";

export type Sent = readonly [method: string, path: string, body?: object];

/** Sends one request to an API server with a token. `warnings` are those of the answer, a line each. */
export async function sendAs(hub: Cluster, token: string, [method, path, body]: Sent) {
  const agent = new Agent({ ca: hub.caPem });
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  try {
    const answer = await exchange({
      url: `${hub.server}${path}`,
      method,
      agent,
      headers: { authorization: `Bearer ${token}`, "content-type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const message = valueAt(answer.json, "message");
    const warnings = [answer.headers["warning"] ?? ""].flat().join("\n");
    return { status: answer.status, message: typeof message === "string" ? message : "", warnings };
  } finally {
    agent.destroy();
  }
}
