import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Access } from "../fleet/cluster.ts";
import type { Cluster, Fleet } from "../fleet/fleet.ts";
import { credentialNamespace } from "../fleet/profiles.ts";

/** A controller of its own: how it comes to the hub, and with whose credentials to the spokes. */
export interface Replica {
  readonly name: string;
  /** Namespace of the Secrets with its credentials; default that of `Fleet.addProfile`. */
  readonly credentials?: string;
}

/** Writes a kubeconfig for a replica: a ServiceAccount named like it, with the rights of the controller. `server`: as for `Cluster.kubeconfig`. */
export async function replicaKubeconfig(
  hub: Cluster,
  { name }: Replica,
  { server }: Pick<Access, "server"> = {},
): Promise<string> {
  const { token } = await hub.serviceAccountToken({
    namespace: "knfleet-system",
    name,
    clusterRoles: ["knfleet-hub"],
    rules: [
      { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
      {
        apiGroups: ["coordination.k8s.io"],
        resources: ["leases"],
        verbs: ["create", "get", "list", "watch", "update", "delete"],
      },
    ],
  });
  const access = { identity: { token }, namespace: "knfleet-system" };
  const way = server === undefined ? {} : { server };
  return hub.writeKubeconfig(`${name}.kubeconfig`, { ...access, ...way });
}

/** Writes a provider file with the built-in reader, which starts no process: for fleets of many spokes. */
export async function builtInProviderFile(
  { folder }: Pick<Fleet, "folder">,
  { name, credentials = credentialNamespace }: Replica,
): Promise<string> {
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "builtin:secretreader",
    env: [
      { name: "KUBECONFIG", value: "/nonexistent" },
      { name: "POD_NAMESPACE", value: credentials },
    ],
    provideClusterInfo: true,
  };
  const file = join(folder, `${name}-providers.json`);
  await writeFile(file, JSON.stringify({ providers: [{ name: "secretreader", execConfig }] }));
  return file;
}

/** Gives the ServiceAccount of the controller the right to read Secrets on the hub, as the chart does for its built-in readers. */
export async function letControllerReadSecrets(hub: Cluster): Promise<void> {
  await hub.serviceAccountToken({
    namespace: "knfleet-system",
    name: "knfleet-controller",
    clusterRoles: [],
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
  });
}
