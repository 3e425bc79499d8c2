import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { stringify } from "yaml";

import {
  createAuthority,
  createSigningKey,
  type CertificateAuthority,
  type KeyPair,
} from "./certificates.ts";

/** The files that the servers of one cluster read, and the identities made for it. */
export interface ClusterFiles {
  /** Folder of the cluster; the working directory of its servers. */
  readonly folder: string;
  readonly authority: CertificateAuthority;
  readonly admin: KeyPair;
  readonly controllerManager: KeyPair;
  readonly scheduler: KeyPair;
  readonly kwok: KeyPair;
  readonly auditLog: string;
  readonly egressSocket: string;
  path(name: string): string;
}

const serverNames = [
  "127.0.0.1",
  "10.96.0.1",
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
];

/** Makes keys and certificates of a new cluster and writes what its servers need. */
export async function writeClusterFiles(
  folder: string,
  name: string,
  { egress }: { readonly egress: boolean },
): Promise<ClusterFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const authority = createAuthority(`${name}-ca`);
  const serving = authority.issue({
    commonName: "kube-apiserver",
    usage: "server",
    hosts: serverNames,
  });
  const tokens = createSigningKey();
  const files: ClusterFiles = {
    folder,
    authority,
    admin: client(authority, "admin", ["system:masters"]),
    controllerManager: client(authority, "system:kube-controller-manager"),
    scheduler: client(authority, "system:kube-scheduler"),
    kwok: client(authority, "kwok", ["system:masters"]),
    auditLog: join(folder, "audit.log"),
    egressSocket: join(folder, "egress.sock"),
    path: (file) => join(folder, file),
  };
  const write = (file: string, content: string) =>
    writeFile(join(folder, file), content, { mode: 0o600 });
  await Promise.all([
    write("ca.pem", authority.certificatePem),
    write("ca-key.pem", authority.keyPem),
    // An authority of its own, or every client certificate could claim to be the front proxy.
    write("front-proxy-ca.pem", createAuthority(`${name}-front-proxy-ca`).certificatePem),
    write("serving.pem", serving.certificatePem),
    write("serving-key.pem", serving.keyPem),
    write("tokens-key.pem", tokens.privatePem),
    write("tokens.pem", tokens.publicPem),
    write("audit-policy.yaml", auditPolicy),
    ...(egress ? [write("egress.yaml", egressSelection(files.egressSocket))] : []),
  ]);
  return files;
}

function client(
  authority: CertificateAuthority,
  commonName: string,
  organizations: readonly string[] = [],
): KeyPair {
  return authority.issue({ commonName, organizations, usage: "client" });
}

const auditPolicy = stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
});

// No entries for `etcd` and `controlplane`: without them both are dialled directly, and a configured dialler knows no Unix sockets.
function egressSelection(socket: string): string {
  const proxied = {
    name: "cluster",
    connection: { proxyProtocol: "HTTPConnect", transport: { uds: { udsName: socket } } },
  };
  return stringify({
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [proxied],
  });
}
