import { delimiter } from "node:path";

import type { KubeClient } from "../../access/kube-client.ts";
import type { KubeconfigSource } from "../../access/kubeconfig.ts";
import { clientVersion } from "./client-version.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import type { Flags } from "./flags.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface OpenOptions {
  readonly env: Environment;
  /** Whether the command wants to reach spokes. */
  readonly spokes: boolean;
}

/**
 * Opens the way to the hub and, when a provider file was named, to the spokes. Reads files, asks no server yet. Throws
 * FleetError `ConfigInvalid` for a kubeconfig or provider file that cannot be used.
 */
export async function openClusterAccess(
  {
    hub: { kubeconfig, context, overrides, requestTimeoutMs },
    providerFile,
    pluginNamespace,
    pluginRoots,
  }: Flags,
  { env, spokes }: OpenOptions,
  signal: AbortSignal,
): Promise<ClusterAccess> {
  const { connectHub } = await import("../../access/hub.ts");
  await using files = new AsyncDisposableStack();
  const source: KubeconfigSource = {
    environment: env,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(overrides === undefined ? {} : { overrides }),
  };
  const userAgent = `kubectl-knfleet/${clientVersion}`;
  const hub = await connectHub({ ...source, userAgent });
  const { client, namespace } = hub;
  const reach =
    spokes && providerFile !== undefined
      ? await openReach(
          providerFile,
          { source, pluginNamespace, pluginRoots, userAgent, files, hub: client },
          signal,
        )
      : undefined;
  const kept = files.move();
  return {
    hub: client,
    namespace,
    hubTimeoutMs: requestTimeoutMs,
    reach,
    async [Symbol.asyncDispose]() {
      // Ending a connection to a server that is silent takes seconds, and the process ends anyway.
      void hub[Symbol.asyncDispose]().then(undefined, () => undefined);
      await kept.disposeAsync();
    },
  };
}

interface ReachOptions {
  readonly source: KubeconfigSource;
  readonly pluginNamespace: string | undefined;
  readonly pluginRoots: readonly string[];
  readonly userAgent: string;
  /** Gets the files that have to be removed at the end. */
  readonly files: AsyncDisposableStack;
  /** Where built-in readers read Secrets. */
  readonly hub: KubeClient;
}

async function openReach(
  file: string,
  { source, pluginNamespace, pluginRoots, userAgent, files, hub }: ReachOptions,
  signal: AbortSignal,
): Promise<ClusterAccess["reach"]> {
  const { loadProviderFile } = await import("../../access/provider-file.ts");
  const { connectSpoke } = await import("../../access/spoke-connection.ts");
  const providers = await loadProviderFile(file, signal);
  const environment = await pluginSurroundings({ source, pluginNamespace, files });
  // No limit on plugins but the number of spokes read at once: a plugin that hangs must not hold back other spokes.
  return (profile, deadline) =>
    connectSpoke({ profile, providers }, { environment, userAgent, hub, pluginRoots }, deadline);
}

// Inside a cluster, and with a single kubeconfig used as it is, plugins find the hub by themselves.
async function pluginSurroundings({
  source,
  pluginNamespace,
  files,
}: Pick<ReachOptions, "source" | "pluginNamespace" | "files">): Promise<Environment> {
  const { environment, kubeconfig, context, overrides } = source;
  const listed = (environment["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const asIs = [context, overrides, pluginNamespace].every((value) => value === undefined);
  if (asIs && kubeconfig !== undefined) return { ...environment, KUBECONFIG: kubeconfig };
  if (asIs && listed.length <= 1) return environment;
  const { loadKubeconfig } = await import("../../access/kubeconfig.ts");
  const { writePluginKubeconfig } = await import("./plugin-kubeconfig.ts");
  const config = loadKubeconfig(source);
  if (config.files.length === 0 && overrides === undefined) return environment;
  const { path } = files.use(await writePluginKubeconfig(config, pluginNamespace));
  return { ...environment, KUBECONFIG: path };
}
