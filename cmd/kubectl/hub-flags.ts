import type { HubOverrides } from "../../access/kubeconfig.ts";
import { UsageError } from "./usage-error.ts";

/** What names the hub. */
export interface HubFlags {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  /** Undefined: the kubeconfig as it is. */
  readonly overrides: HubOverrides | undefined;
  readonly requestTimeoutMs: number;
}

/** kubectl's flags that set parts of a kubeconfig, as they come from the command line. */
export interface RawHubFlags {
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

/** What the flags change in the kubeconfig; undefined when none was given. Throws UsageError. */
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

function given(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(set);
}

/** As kubectl: an address without a scheme is plain HTTP. */
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
