import { Agent } from "node:https";

import { systemClock } from "../../../access/time/system-clock.ts";
import type { Cluster } from "../../fleet/cluster.ts";
import { exchange } from "../../fleet/https-exchange.ts";
import { type Arrival, SimulatedCluster } from "../../simulate/cluster.ts";
import { Random } from "../../simulate/random.ts";
import type { SpokeRequest } from "../spoke-request.ts";
import type { Ask, ComparedServer, Reply } from "./conversation.ts";

const userAgent = "comparison/1";
const jsonType = "application/json";

/** A real API server, asked as `system:masters`. */
export function realServer(cluster: Cluster): ComparedServer & Disposable {
  const { caPem: ca, adminIdentity } = cluster;
  const { certificatePem: cert, keyPem: key } = adminIdentity;
  const agent = new Agent({ keepAlive: true, maxSockets: 64, ca, cert, key });
  const send = (ask: Ask) => {
    const { method = "GET", path, body } = ask;
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return exchange({
      url: `${cluster.server}${path}`,
      method,
      agent,
      headers: headersOf(ask),
      ...sent,
    });
  };
  return {
    ask: async (ask) => {
      const { status, json, text } = await send(ask);
      return { status, body: json ?? text };
    },
    watch: (path, accept) => send({ path, ...(accept !== undefined && { accept }) }),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** One cluster of the simulation, in the time of the machine. */
export function simulatedServer(
  onRequest: (request: SpokeRequest) => void = () => undefined,
): ComparedServer & Disposable {
  const cluster = new SimulatedCluster("compared", {
    clock: systemClock,
    random: new Random(1),
    availableAfterMs: () => 20,
    onRequest,
  });
  return {
    ask: (ask) => Promise.resolve(asJson(cluster.serve(arrivalOf(ask)).answer)),
    watch: (path, accept) =>
      new Promise((resolve) => {
        let text = "";
        const refusal = cluster.watch(
          arrivalOf({ path, ...(accept !== undefined && { accept }) }),
          {
            destroyed: false,
            begin: () => undefined,
            write: (part) => {
              text += part;
            },
            end: () => resolve({ status: 200, text }),
            onClose: () => undefined,
          },
        );
        if (refusal !== undefined) resolve({ status: refusal.status, text: "" });
      }),
    [Symbol.dispose]: () => cluster[Symbol.dispose](),
  };
}

function arrivalOf(ask: Ask): Arrival {
  const { method = "GET", path, body } = ask;
  const text = body === undefined ? undefined : JSON.stringify(body);
  return { method, path, headers: headersOf(ask), body: text };
}

function headersOf({ type = jsonType, accept = jsonType }: Ask): Readonly<Record<string, string>> {
  return { "user-agent": userAgent, "content-type": type, accept };
}

/** As it comes over a wire: without fields that are undefined. */
function asJson({ status, body }: Reply): Reply {
  return { status, body: JSON.parse(JSON.stringify(body)) };
}
