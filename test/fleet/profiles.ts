import { clusterProfileApiVersion, type AccessProvider } from "../../api/cluster-profile.ts";
import { timestampOf } from "../../api/conditions.ts";
import type { NamespacedName } from "../../api/kubernetes.ts";
import type { AdminClient } from "./admin-client.ts";
import type { Cluster } from "./cluster.ts";
import type { TokenOptions } from "./service-accounts.ts";

/** The official exec plugins; also the names of the providers in the provider file. */
export type PluginName = "secretreader" | "kubeconfig-secretreader";

/** How a spoke is to be published on the hub. */
export interface ProfileOptions {
  readonly plugin: PluginName;
  /** Default `fleet`. */
  readonly namespace?: string;
  /** Default: the spoke's name. */
  readonly name?: string;
  /** How the hub dials the spoke. Default `proxy`, so that delay, counts and faults apply. */
  readonly via?: "direct" | "proxy" | (string & {});
  /** Condition `ControlPlaneHealthy`; `missing` leaves it out. Default true. */
  readonly healthy?: boolean | "missing";
  /** Overrides what the profile says of the way in, for wrong CAs and other faults. */
  readonly cluster?: AccessProvider["cluster"];
  /** Name of the cluster manager. Default `test-fleet`. */
  readonly manager?: string;
  /** Default: ServiceAccount `knfleet/knfleet-hub` on the spoke with ClusterRole `knfleet-spoke` of docs/spoke-role.yaml. */
  readonly identity?: TokenOptions;
}

/** A spoke that is published on the hub, with the Secret that holds its credential. */
export interface Profile {
  readonly namespace: string;
  readonly name: string;
  readonly spoke: Cluster;
  readonly plugin: PluginName;
  readonly secret: NamespacedName;
  /** The token that the Secret holds at first. */
  readonly token: string;
  /** Writes the status anew; what is left out stays as it was. */
  update(change: Pick<ProfileOptions, "via" | "healthy" | "cluster">): Promise<void>;
  /** Deletes the ServiceAccount on the spoke: its tokens are refused after at most 10 s, which is what the server remembers. */
  revoke(): Promise<void>;
  /** Stores a new token, of a new ServiceAccount when it was revoked, and returns it. */
  renew(): Promise<string>;
  /** Deletes the ClusterProfile; Secret and ServiceAccount stay. */
  remove(): Promise<void>;
}

/** Namespace of the Secrets that the plugins read. */
export const credentialNamespace = "fleet-credentials";

const profileType = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile" } as const;

const defaultIdentity: TokenOptions = {
  namespace: "knfleet",
  name: "knfleet-hub",
  clusterRoles: ["knfleet-spoke"],
};

/** Writes a ClusterProfile, without its status. */
export async function applyProfile(
  hub: AdminClient,
  profile: NamespacedName & { readonly manager: string; readonly displayName: string },
): Promise<void> {
  const { namespace, name, manager, displayName } = profile;
  await hub.apply({
    ...profileType,
    metadata: { namespace, name, labels: { "x-k8s.io/cluster-manager": manager } },
    spec: { displayName, clusterManager: { name: manager } },
  });
}

/** Writes the status of a ClusterProfile: whether its cluster is healthy, and the way in. */
export async function applyProfileStatus(
  hub: AdminClient,
  { namespace, name }: NamespacedName,
  { healthy = true, access }: Pick<ProfileOptions, "healthy"> & { readonly access: AccessProvider },
): Promise<void> {
  const status = {
    conditions: conditions(healthy),
    version: { kubernetes: "1.36.3" },
    accessProviders: [access],
  };
  const metadata = { namespace, name };
  await hub.apply({ ...profileType, metadata, status }, { subresource: "status" });
}

/** Publishes a spoke on the hub: credential, Secret, ClusterProfile and its status. */
export async function addProfile(
  hub: AdminClient,
  spoke: Cluster,
  options: ProfileOptions,
): Promise<Profile> {
  const { plugin, namespace = "fleet", name = spoke.name, identity = defaultIdentity } = options;
  const { manager = "test-fleet" } = options;
  const secret = { namespace: credentialNamespace, name: secretName(namespace, name, plugin) };
  const settings = { ...options };
  const renew = async () => {
    const { token } = await spoke.serviceAccountToken(identity);
    await storeCredential(hub, secret, { plugin, token, spoke });
    return token;
  };
  const writeStatus = () => {
    const access = accessProvider({ secret, spoke, options: settings });
    return applyProfileStatus(hub, { namespace, name }, { ...settings, access });
  };
  const token = await renew();
  await hub.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await applyProfile(hub, { namespace, name, manager, displayName: spoke.name });
  await writeStatus();
  return {
    namespace,
    name,
    spoke,
    plugin,
    secret,
    token,
    async update(change) {
      Object.assign(settings, change);
      await writeStatus();
    },
    async revoke() {
      const account = { apiVersion: "v1", kind: "ServiceAccount" };
      await spoke.admin.remove({ ...account, namespace: identity.namespace, name: identity.name });
    },
    renew,
    async remove() {
      await hub.remove({ ...profileType, namespace, name });
    },
  };
}

// The Secrets of all profiles share one namespace, because secretreader knows only that of its kubeconfig's context.
function secretName(namespace: string, name: string, plugin: PluginName): string {
  const cluster = namespace === "fleet" ? name : `${namespace}.${name}`;
  return plugin === "secretreader" ? cluster : `${cluster}-kubeconfig`;
}

async function storeCredential(
  hub: AdminClient,
  secret: NamespacedName,
  credential: { readonly plugin: PluginName; readonly token: string; readonly spoke: Cluster },
): Promise<void> {
  const { plugin, token, spoke } = credential;
  await hub.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: secret.namespace } });
  await hub.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...secret },
    stringData:
      plugin === "secretreader" ? { token } : { value: spoke.kubeconfig({ identity: { token } }) },
  });
}

function conditions(healthy: boolean | "missing"): readonly object[] {
  if (healthy === "missing") return [];
  return [
    {
      type: "ControlPlaneHealthy",
      status: healthy ? "True" : "False",
      reason: healthy ? "Healthy" : "Unhealthy",
      message: "",
      lastTransitionTime: timestampOf(new Date()),
    },
  ];
}

function accessProvider({
  secret,
  spoke,
  options,
}: {
  readonly secret: NamespacedName;
  readonly spoke: Cluster;
  readonly options: ProfileOptions;
}): AccessProvider {
  const { plugin, via = "proxy", cluster } = options;
  const servers: Readonly<Record<string, string>> = {
    direct: spoke.server,
    proxy: spoke.proxy.url,
  };
  const extension =
    plugin === "secretreader"
      ? { clusterName: secret.name }
      : { namespace: secret.namespace, name: secret.name, key: "value" };
  return {
    name: plugin,
    cluster: {
      server: servers[via] ?? via,
      "certificate-authority-data": Buffer.from(spoke.caPem, "utf8").toString("base64"),
      extensions: [{ name: "client.authentication.k8s.io/exec", extension }],
      ...cluster,
    },
  };
}
