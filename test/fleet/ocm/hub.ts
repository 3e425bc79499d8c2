import type { Cluster } from "../cluster.ts";
import { freePort } from "../ports.ts";
import { installHubCrds, type ProfileCrd } from "./crds.ts";
import { startProgram, type OcmBinary, type ProgramDeps } from "./programs.ts";

/** Namespace of the managers on the hub, of their leases and secrets. */
const managerNamespace = "open-cluster-management-hub";

const managers: readonly (readonly [OcmBinary, readonly string[]])[] = [
  ["ocm-registration", ["controller", "--feature-gates=ClusterProfile=true"]],
  ["ocm-placement", ["controller"]],
  ["ocm-addon", ["manager"]],
];

/**
 * Starts what `clusteradm init` starts, as the hub's administrator: registration with ClusterProfiles, placement, and the manager of
 * addons. OCM's admission webhooks are left out. Disposing ends the managers.
 */
export async function startHubManagers(
  hub: Cluster,
  profileCrd: ProfileCrd,
  deps: ProgramDeps,
): Promise<AsyncDisposable> {
  await installHubCrds(hub, profileCrd);
  await createNamespace(hub, managerNamespace);
  await using undo = new AsyncDisposableStack();
  for (const [binary, args] of managers) {
    const common = [
      `--kubeconfig=${hub.adminKubeconfigPath}`,
      `--namespace=${managerNamespace}`,
      "--disable-leader-election",
      `--listen=127.0.0.1:${await freePort()}`,
    ];
    const command = { binary, args: [...args, ...common] };
    const server = await startProgram(`${hub.name}-${binary}`, command, deps);
    undo.defer(() => server.stop());
  }
  return undo.move();
}

/** Creates a namespace unless it exists. */
export async function createNamespace({ admin }: Cluster, name: string): Promise<void> {
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}
