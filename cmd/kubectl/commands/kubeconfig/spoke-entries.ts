import { isIPv6 } from "node:net";

import type { Endpoint } from "../../../../access/http/endpoint.ts";
import type { EndpointProxy } from "../../../../access/http/proxy-url.ts";
import { FleetError } from "../../../../api/errors.ts";
import type { ExecUser } from "./exec-user.ts";

/** One cluster as a kubeconfig has it; context, cluster and user have the same name. */
export interface SpokeEntry {
  /** `namespace/name` of the ClusterProfile. */
  readonly name: string;
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user: { readonly exec: ExecUser };
}

/**
 * The entry for a cluster. Holds no secret: throws FleetError `RemoteClientCreationFailed` for a proxy that wants a password, which would have
 * to be written down.
 */
export function spokeEntry(name: string, endpoint: Endpoint, exec: ExecUser): SpokeEntry {
  const { server, caPem, tlsServerName, insecureSkipTlsVerify, proxy } = endpoint;
  const cluster = {
    server,
    ...(caPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(caPem, "utf8").toString("base64") }),
    ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
    ...(insecureSkipTlsVerify === true ? { "insecure-skip-tls-verify": true } : {}),
    ...(proxy === undefined ? {} : { "proxy-url": proxyUrl(name, proxy) }),
  };
  return { name, cluster, user: { exec } };
}

function proxyUrl(id: string, { protocol, host, port, login }: EndpointProxy): string {
  if (login === undefined) return `${protocol}//${isIPv6(host) ? `[${host}]` : host}:${port}`;
  throw new FleetError(
    "RemoteClientCreationFailed",
    `The proxy of ClusterProfile ${id} wants a password, which is not written to disk`,
    { code: "EndpointInvalid" },
  );
}

/** A kubeconfig of these clusters; the only one is the current one. */
export function kubeconfigOf(entries: readonly SpokeEntry[]): Readonly<Record<string, unknown>> {
  const [first, ...more] = entries;
  return {
    apiVersion: "v1",
    kind: "Config",
    ...(first === undefined || more.length > 0 ? {} : { "current-context": first.name }),
    clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    users: entries.map(({ name, user }) => ({ name, user })),
  };
}
