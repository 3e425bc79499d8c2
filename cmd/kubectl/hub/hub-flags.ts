import type { HubOverrides } from "../../../access/hub/kubeconfig.ts";
import { UsageError } from "../errors.ts";

/** The flags that select the hub. */
export interface HubFlags {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Undefined: the kubeconfig as it is. */
  readonly overrides: HubOverrides | undefined;
  readonly requestTimeoutMs: number;
}

/** Values of kubectl's flags for the hub. */
export interface RawHubFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly requestTimeout?: string;
  readonly hubCluster?: string;
  readonly user?: string;
  readonly server?: string;
  readonly token?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly asUid?: string;
  readonly asUserExtra?: readonly string[];
  readonly certificateAuthority?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
}

/** The given flags that a pasted command needs again, each as a flag with its value, if any. */
export interface GivenFlags {
  /** Flags for the hub, without a token. */
  readonly hub: readonly (readonly string[])[];
  readonly hasToken: boolean;
  /** Flags for the access to clusters. */
  readonly way: readonly (readonly string[])[];
  readonly releaseDir: string | undefined;
}

/** The changes of the flags to the kubeconfig. Undefined without such flags. Throws UsageError. */
export function hubOverrides(raw: RawHubFlags): HubOverrides | undefined {
  const clusterFields = given({
    server: serverOf(raw.server),
    "certificate-authority": raw.certificateAuthority,
    "tls-server-name": raw.tlsServerName,
    "insecure-skip-tls-verify": raw.insecureSkipTlsVerify,
  });
  const userFields = given({
    token: raw.token,
    "client-certificate": raw.clientCertificate,
    "client-key": raw.clientKey,
    as: raw.as,
    "as-uid": raw.asUid,
    "as-groups": raw.asGroup,
    "as-user-extra": raw.asUserExtra === undefined ? undefined : extraOf(raw.asUserExtra),
  });
  const overrides = {
    ...given({ cluster: raw.hubCluster, user: raw.user }),
    ...(Object.keys(clusterFields).length > 0 ? { clusterFields } : {}),
    ...(Object.keys(userFields).length > 0 ? { userFields } : {}),
  };
  return Object.keys(overrides).length > 0 ? overrides : undefined;
}

/** The given flags for the hub, each as a flag with its value, if any. The token is left out, because it must not be shown. */
export function givenHubFlags(raw: RawHubFlags): readonly (readonly string[])[] {
  const single: readonly (readonly [flag: string, value: string | undefined])[] = [
    ["--kubeconfig", raw.kubeconfig],
    ["--context", raw.context],
    ["--hub-cluster", raw.hubCluster],
    ["--user", raw.user],
    ["--server", raw.server],
    ["--as", raw.as],
    ["--as-uid", raw.asUid],
    ["--certificate-authority", raw.certificateAuthority],
    ["--client-certificate", raw.clientCertificate],
    ["--client-key", raw.clientKey],
    ["--tls-server-name", raw.tlsServerName],
    ["--request-timeout", raw.requestTimeout],
  ];
  return [
    ...single.flatMap(([flag, value = ""]) => (value === "" ? [] : [[flag, value]])),
    ...(raw.asGroup ?? []).map((group) => ["--as-group", group]),
    ...(raw.asUserExtra ?? []).map((extra) => ["--as-user-extra", extra]),
    ...(raw.insecureSkipTlsVerify === true ? [["--insecure-skip-tls-verify"]] : []),
  ];
}

function given(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(set);
}

/** An address without a scheme is plain HTTP, as in kubectl. */
function serverOf(server: string | undefined): string | undefined {
  if (server === undefined || server === "") return undefined;
  const address = server.includes("://") ? server : `http://${server}`;
  if (URL.canParse(address)) return address;
  throw new UsageError(`Invalid value "${server}" for --server: want an address`);
}

function extraOf(pairs: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const entries = pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at > 0) return { key: pair.slice(0, at), value: pair.slice(at + 1) };
    throw new UsageError(`Invalid value "${pair}" for --as-user-extra: want KEY=VALUE`);
  });
  const groups = Map.groupBy(entries, ({ key }) => key);
  return Object.fromEntries([...groups].map(([key, all]) => [key, all.map(({ value }) => value)]));
}
