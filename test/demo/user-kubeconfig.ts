import { stringify } from "yaml";

import type { Cluster } from "../fleet/fleet.ts";

/** What a kubeconfig says of a cluster. */
export type UserCluster = Pick<Cluster, "name" | "server" | "caPem" | "adminIdentity">;

/** A kubeconfig for a person: one context a cluster, named as the cluster, the first one current. Holds secrets. */
export function userKubeconfig(clusters: readonly UserCluster[]): string {
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: clusters.map(({ name, server, caPem }) => ({
      name,
      cluster: { server, "certificate-authority-data": base64(caPem) },
    })),
    users: clusters.map(({ name, adminIdentity }) => ({
      name,
      user: {
        "client-certificate-data": base64(adminIdentity.certificatePem),
        "client-key-data": base64(adminIdentity.keyPem),
      },
    })),
    contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    "current-context": clusters[0]?.name ?? "",
  });
}

function base64(pem: string): string {
  return Buffer.from(pem, "utf8").toString("base64");
}
