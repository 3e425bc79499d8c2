import { loadProviderFile } from "../../../../access/providers/provider-file.ts";
import type { Flags } from "../../flags.ts";
import type { Terminal } from "../../output/terminal.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { WayDeps } from "./way-nodes.ts";

/** Reads what the ways from the hub to clusters are followed with. What is returned asks the hub for its provider file only when it is called. */
export async function openWayDeps(
  { hub, spokes }: ClusterAccess,
  { flags, env }: { readonly flags: Flags; readonly env: Terminal["env"] },
  signal: AbortSignal,
): Promise<() => Promise<WayDeps>> {
  const { providerFile, pluginNamespace, recorded } = flags;
  const kubeconfig = flags.hub.kubeconfig ?? env["KUBECONFIG"];
  const providers =
    // A bundle was made with the provider file of another machine, and has no certificates.
    providerFile === undefined || recorded !== undefined
      ? undefined
      : await loadProviderFile({ path: providerFile }, signal);
  const named = {
    hub,
    providers,
    environment: { ...env, KUBECONFIG: kubeconfig },
    pluginNamespace,
  };
  return async () => {
    const { fromHub } = await spokes();
    if (fromHub === undefined) return named;
    const { file, environment } = fromHub;
    return { hub, providers: file, environment, pluginNamespace: undefined };
  };
}
