import type { AdminClient } from "../fleet/admin-client.ts";
import { applyProfile, applyProfileStatus, credentialNamespace } from "../fleet/profiles.ts";
import type { SimulatedSpoke, Simulator } from "./simulator.ts";

/** Namespace of the ClusterProfiles of virtual spokes. */
export const profileNamespace = "fleet";

/** Publishes virtual spokes on a hub: for each a Secret that `builtin:secretreader` reads, and a ClusterProfile. */
export async function publishSpokes(
  hub: AdminClient,
  { server, caPem, spokes }: Pick<Simulator, "server" | "caPem" | "spokes">,
): Promise<void> {
  for (const name of [profileNamespace, credentialNamespace]) {
    await hub.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  await Promise.all(spokes.map((spoke) => publish(hub, { server, caPem, spoke })));
}

interface Published extends Pick<Simulator, "server" | "caPem"> {
  readonly spoke: SimulatedSpoke;
}

async function publish(hub: AdminClient, { server, caPem, spoke }: Published): Promise<void> {
  const { name, serverName, token } = spoke;
  await hub.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: credentialNamespace, name },
    stringData: { token },
  });
  const profile = { namespace: profileNamespace, name };
  await applyProfile(hub, { ...profile, manager: "simulator", displayName: name });
  const cluster = {
    server,
    "tls-server-name": serverName,
    "certificate-authority-data": Buffer.from(caPem, "utf8").toString("base64"),
    extensions: [{ name: "client.authentication.k8s.io/exec", extension: { clusterName: name } }],
  };
  await applyProfileStatus(hub, profile, { access: { name: "secretreader", cluster } });
}
