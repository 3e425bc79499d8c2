import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import type { AdminClient } from "../fleet/admin-client.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { secondNow } from "./apply.ts";
import type { SimulatedSpoke, Simulator } from "./simulator.ts";

/** Namespace of the ClusterProfiles of virtual spokes. */
export const profileNamespace = "fleet";

const profileType = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile" } as const;
/** So many spokes are published at a time. */
const batch = 20;

/** Publishes virtual spokes on a hub: for each a Secret that `builtin:secretreader` reads, and a ClusterProfile. */
export async function publishSpokes(
  hub: AdminClient,
  { server, caPem, spokes }: Pick<Simulator, "server" | "caPem" | "spokes">,
): Promise<void> {
  for (const name of [profileNamespace, credentialNamespace]) {
    await hub.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  for (let from = 0; from < spokes.length; from += batch) {
    const some = spokes.slice(from, from + batch);
    await Promise.all(some.map((spoke) => publish(hub, { server, caPem, spoke })));
  }
}

interface Published extends Pick<Simulator, "server" | "caPem"> {
  readonly spoke: SimulatedSpoke;
}

async function publish(hub: AdminClient, { server, caPem, spoke }: Published): Promise<void> {
  const { name, serverName, token } = spoke;
  const metadata = { namespace: profileNamespace, name };
  await hub.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: credentialNamespace, name },
    stringData: { token },
  });
  const labels = { "x-k8s.io/cluster-manager": "simulator" };
  const spec = { displayName: name, clusterManager: { name: "simulator" } };
  await hub.apply({ ...profileType, metadata: { ...metadata, labels }, spec });
  const cluster = {
    server,
    "tls-server-name": serverName,
    "certificate-authority-data": Buffer.from(caPem, "utf8").toString("base64"),
    extensions: [{ name: "client.authentication.k8s.io/exec", extension: { clusterName: name } }],
  };
  const isHealthy = {
    type: "ControlPlaneHealthy",
    status: "True",
    reason: "Healthy",
    message: "",
    lastTransitionTime: secondNow(),
  };
  const status = {
    conditions: [isHealthy],
    version: { kubernetes: "1.36.3" },
    accessProviders: [{ name: "secretreader", cluster }],
  };
  await hub.apply({ ...profileType, metadata, status }, { subresource: "status" });
}
