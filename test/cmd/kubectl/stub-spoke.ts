import { createServer } from "node:http";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { portOf } from "../../fleet/ports.ts";

/** A cluster that is asked for its version with a token, and whose anchors nobody finds. */
export async function startSpoke() {
  const tokens: string[] = [];
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization ?? "none");
    const found = (request.url ?? "").startsWith("/version");
    response.writeHead(found ? 200 : 404, { "content-type": "application/json" });
    response.end(
      JSON.stringify(
        found
          ? { gitVersion: "v1.36.3" }
          : { kind: "Status", apiVersion: "v1", code: 404, reason: "NotFound" },
      ),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    tokens,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A Secret with these texts in it. */
export function secret(namespace: string, name: string, data: Readonly<Record<string, string>>) {
  const encoded = Object.entries(data).map(([key, text]) => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name, uid: name, resourceVersion: "7" },
    data: Object.fromEntries(encoded),
  };
}

/** An installation on a cluster that is reached with the provider of the same name as its configuration says. */
export function fleetOf(server: string, provider: string, config: object): readonly KubeObject[] {
  const profile = {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name: "eu-1", uid: "p", resourceVersion: "7" },
    spec: { displayName: "eu-1", clusterManager: { name: "test" } },
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status: "True" }],
      accessProviders: [
        {
          name: provider,
          cluster: {
            server,
            extensions: [{ name: "client.authentication.k8s.io/exec", extension: config }],
          },
        },
      ],
    },
  };
  const serving = {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeServing",
    metadata: {
      namespace: "team-a",
      name: "knative-serving",
      uid: "s",
      resourceVersion: "7",
      generation: 1,
    },
    spec: { clusterProfileRef: { namespace: "fleet", name: "eu-1" } },
    status: {
      observedGeneration: 1,
      version: "1.23.0",
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-11-21T11:00:00Z" }],
    },
  };
  return [profile, serving];
}
