import type { ServerResponse } from "node:http";
import { createServer } from "node:https";

import { createSelfSigned } from "../../fleet/certificates.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import { portOf } from "../../fleet/ports.ts";

/** Plays the kubelets of a test cluster for its API server, as far as logs are concerned: the fake ones of the fleet have none. */
export interface StubKubelet extends AsyncDisposable {
  /** Writes a line into the log of every container of pods whose names begin so. */
  write(pod: string, line: string): void;
  /** Ends the streams of those who follow, as a connection that breaks. */
  cut(): void;
  /** How many follow now. */
  readonly followers: number;
  /** How many have followed, over and over. */
  readonly followed: number;
}

interface Written {
  readonly time: string;
  readonly pod: string;
  readonly line: string;
}

/** Starts one and names it as the kubelet of every node. */
export async function startStubKubelet(cluster: Cluster): Promise<StubKubelet> {
  const written: Written[] = [];
  const followers = new Map<ServerResponse, string>();
  let followed = 0;
  const { certificatePem: cert, keyPem: key } = createSelfSigned({
    commonName: "kubelet",
    usage: "server",
    hosts: ["127.0.0.1"],
  });
  const server = createServer({ cert, key }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "https://kubelet");
    const [, pod = ""] = /^\/containerLogs\/[^/]+\/([^/]+)\//.exec(pathname) ?? [];
    // The kubelet's query has whole seconds.
    const since = Math.floor((Date.parse(searchParams.get("sinceTime") ?? "") || 0) / 1_000);
    const lines = written.filter(
      (one) => pod.startsWith(one.pod) && Date.parse(one.time) / 1_000 >= since,
    );
    const tail = Number(searchParams.get("tailLines") ?? lines.length);
    response.writeHead(200, { "content-type": "text/plain" });
    response.flushHeaders();
    for (const { time, line } of tail === 0 ? [] : lines.slice(-tail)) {
      response.write(`${time} ${line}\n`);
    }
    if (searchParams.get("follow") !== "true") return response.end();
    followers.set(response, pod);
    followed += 1;
    response.on("close", () => followers.delete(response));
    return undefined;
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  await nameKubelet(cluster, portOf(server.address()));
  return {
    write(pod, line) {
      const time = new Date().toISOString();
      written.push({ time, pod, line });
      for (const [response, of] of followers) {
        if (of.startsWith(pod)) response.write(`${time} ${line}\n`);
      }
    },
    cut() {
      for (const response of followers.keys()) response.end();
    },
    get followers() {
      return followers.size;
    },
    get followed() {
      return followed;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

async function nameKubelet({ admin }: Cluster, port: number): Promise<void> {
  const nodes = await admin.list({ apiVersion: "v1", kind: "Node" });
  await Promise.all(
    nodes.map(({ metadata: { name } }) =>
      admin.patch(
        { apiVersion: "v1", kind: "Node", name },
        {
          status: {
            addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
            daemonEndpoints: { kubeletEndpoint: { Port: port } },
          },
        },
        { subresource: "status" },
      ),
    ),
  );
}
