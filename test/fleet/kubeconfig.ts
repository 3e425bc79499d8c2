import { writeFile } from "node:fs/promises";

import { stringify } from "yaml";

import type { KeyPair } from "./certificates.ts";

/** One way into one cluster. */
export interface KubeconfigEntry {
  /** Name of cluster, user and context. */
  readonly name: string;
  readonly server: string;
  readonly caPem: string;
  readonly identity: KeyPair | { readonly token: string };
  readonly namespace?: string;
  /** Name to check the server's certificate against, when it differs from the server's host. */
  readonly tlsServerName?: string;
}

/** A kubeconfig with one context, which is the current one. Holds a secret. */
export function kubeconfigOf(entry: KubeconfigEntry): string {
  const { name, server, namespace, tlsServerName, identity } = entry;
  const user =
    "token" in identity
      ? { token: identity.token }
      : {
          "client-certificate-data": base64(identity.certificatePem),
          "client-key-data": base64(identity.keyPem),
        };
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name,
        cluster: {
          server,
          "certificate-authority-data": base64(entry.caPem),
          ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
        },
      },
    ],
    users: [{ name, user }],
    contexts: [
      {
        name,
        context: { cluster: name, user: name, ...(namespace === undefined ? {} : { namespace }) },
      },
    ],
    "current-context": name,
  });
}

/** Writes a kubeconfig that only this user may read and returns its path. */
export async function writeKubeconfig(path: string, entry: KubeconfigEntry): Promise<string> {
  await writeFile(path, kubeconfigOf(entry), { mode: 0o600 });
  return path;
}

function base64(pem: string): string {
  return Buffer.from(pem, "utf8").toString("base64");
}
