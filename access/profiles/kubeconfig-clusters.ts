import type { AccessCluster } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord, listAt, textAt } from "../../api/fields.ts";
import { type Endpoint, endpointOf } from "../http/endpoint.ts";
import {
  credentialOf,
  kubeconfigContext,
  KubeconfigUserError,
  parseKubeconfig,
  textOf,
} from "../plugins/kubeconfig-user.ts";
import { accessClusterOf } from "./profile-objects.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The cluster of one context of a kubeconfig. Holds no credential. */
export interface KubeconfigCluster {
  /** Name of the context; empty when the kubeconfig names none. */
  readonly context: string;
  readonly isCurrent: boolean;
  readonly cluster: AccessCluster;
}

/** Why a context, or a whole kubeconfig, is refused: the end of a sentence, without text of the kubeconfig. */
export interface RefusedKubeconfig {
  readonly context: string;
  readonly isCurrent: boolean;
  readonly why: string;
}

/** Accepts every server: a check sends no credential, and the provider file decides later. */
export const anyEndpoint = { systemRoots: true, allowInsecure: true } as const;

/** More contexts than anybody keeps in one Secret. */
const maxContexts = 50;

/**
 * The clusters of a kubeconfig that somebody else wrote: of its current context, or of all contexts. Refuses whatever a reader of the Secret could not use, or should
 * not: programs, files, impersonation, and logins that a ClusterProfile would show.
 */
export function kubeconfigClusters(
  text: string,
  contexts: "current" | "all",
  nowMs: number,
): readonly (KubeconfigCluster | RefusedKubeconfig)[] {
  try {
    const config = parseKubeconfig(text);
    return namesOf(config, contexts).map((name) => clusterOf(config, name, nowMs));
  } catch (error) {
    if (!(error instanceof KubeconfigUserError)) throw error;
    return [{ context: "", isCurrent: true, why: error.message }];
  }
}

/** The contexts to read. The empty name stands for the current one. */
function namesOf(config: Fields, contexts: "current" | "all"): readonly string[] {
  if (contexts === "current") return [""];
  const current = textAt(config, "current-context") ?? "";
  const names = listAt(config, "contexts")
    .filter(isRecord)
    .flatMap((entry) => textAt(entry, "name") ?? []);
  const others = [...new Set(names)].filter((name) => name !== "" && name !== current);
  const all = [...(current === "" ? [] : [""]), ...others];
  if (all.length > maxContexts) {
    throw new KubeconfigUserError(`has more than ${maxContexts} contexts`);
  }
  return all;
}

function clusterOf(
  config: Fields,
  name: string,
  nowMs: number,
): KubeconfigCluster | RefusedKubeconfig {
  const isCurrent = name === "";
  try {
    const { name: context, cluster, user } = kubeconfigContext(config, name);
    refuseUser(user);
    return { context, isCurrent, cluster: usableCluster(cluster, nowMs) };
  } catch (error) {
    if (!(error instanceof KubeconfigUserError)) throw error;
    return { context: name, isCurrent, why: error.message };
  }
}

/** Ways to log in that make the hub run a program, read a file or become somebody else. */
const refusedFields: Readonly<Record<string, string>> = {
  exec: "names a program (exec); a Secret must not choose what runs on the hub",
  "auth-provider": "names an auth-provider, which is not supported",
  tokenFile: "names a file (tokenFile); the token has to be inline",
  "client-certificate": "names a file (client-certificate); it has to be inline",
  "client-key": "names a file (client-key); it has to be inline",
  username: "has a user name and password, which are not supported",
  password: "has a user name and password, which are not supported",
  as: "acts as another user (as), which is not supported",
  "as-uid": "acts as another user (as-uid), which is not supported",
  "as-groups": "acts as another user (as-groups), which is not supported",
  "as-user-extra": "acts as another user (as-user-extra), which is not supported",
};

function refuseUser(user: Fields): void {
  const refused = Object.entries(refusedFields).find(([field]) => isSet(user[field]));
  if (refused !== undefined) throw new KubeconfigUserError(refused[1]);
  // Throws when there is no credential that a reader takes.
  credentialOf(user);
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function usableCluster(entry: Fields, nowMs: number): AccessCluster {
  const data = textOf(entry["certificate-authority-data"]);
  if (isSet(entry["certificate-authority"]) && data === "") {
    throw new KubeconfigUserError(
      "names a file (certificate-authority); certificates have to be inline",
    );
  }
  const pem = data === "" ? undefined : Buffer.from(data, "base64").toString("utf8");
  const cluster = accessClusterOf(entry, pem);
  if (endpointIn(cluster, nowMs).proxy?.login !== undefined) {
    // A ClusterProfile can be read by more people than the Secret.
    throw new KubeconfigUserError(
      "has a proxy-url with a login, which a ClusterProfile would show",
    );
  }
  return cluster;
}

/** Whether the provider allows such a server is decided when a component needs the cluster. */
function endpointIn(cluster: AccessCluster, nowMs: number): Endpoint {
  try {
    return endpointOf(cluster, { ...anyEndpoint, nowMs });
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const [, what = "is not usable"] = /: (.*)$/.exec(error.sentence) ?? [];
    throw new KubeconfigUserError(`has a cluster that is not usable: ${what}`);
  }
}
