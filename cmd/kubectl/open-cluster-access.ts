import { delimiter } from "node:path";

import type { Credential } from "../../access/credential.ts";
import type { KubeClient } from "../../access/kube-client.ts";
import type { KubeconfigSource } from "../../access/kubeconfig.ts";
import type { RequestObserver } from "../../access/request-record.ts";
import { clientVersion } from "./client-version.ts";
import type { ClusterAccess, SpokeWays } from "./cluster-access.ts";
import type { Flags } from "./flags.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface OpenOptions {
  readonly env: Environment;
  /** Whether the command wants to reach spokes. */
  readonly spokes: boolean;
  /** Called with every credential that is used, for who has to keep it out of what he writes. */
  readonly onCredential?: (credential: Credential) => void;
}

/**
 * Opens the way to the hub and, when a provider file was named, to the spokes. Reads files, asks no server yet. Throws
 * FleetError `ConfigInvalid` for a kubeconfig or provider file that cannot be used.
 */
export async function openClusterAccess(
  flags: Flags,
  { env, spokes, onCredential }: OpenOptions,
  signal: AbortSignal,
): Promise<ClusterAccess> {
  const { providerFile, pluginNamespace, pluginRoots, recorded } = flags;
  if (recorded !== undefined) {
    return (await import("./bundle/recorded-access.ts")).recordedAccess(recorded);
  }
  const { connectHub } = await import("../../access/hub.ts");
  await using files = new AsyncDisposableStack();
  const source = hubSource(flags, env);
  const userAgent = `kubectl-knfleet/${clientVersion}`;
  const watching = {
    ...(onCredential === undefined ? {} : { onCredential }),
    ...requestObserver(flags),
  };
  const hub = await connectHub({ ...source, userAgent, ...watching });
  const { client, namespace } = hub;
  const opened =
    spokes && providerFile !== undefined
      ? await openSpokes(
          providerFile,
          { source, pluginNamespace, pluginRoots, userAgent, files, hub: client, ...watching },
          signal,
        )
      : undefined;
  const kept = files.move();
  return {
    hub: client,
    namespace,
    hubTimeoutMs: flags.hub.requestTimeoutMs,
    reach: opened?.reach,
    ways: opened?.ways,
    async [Symbol.asyncDispose]() {
      // Ending a connection to a server that is silent takes seconds, and the process ends anyway.
      void hub[Symbol.asyncDispose]().then(undefined, () => undefined);
      await kept.disposeAsync();
    },
  };
}

/** Who is told of every request, as an option. */
export function requestObserver({ onRequest }: Pick<Flags, "onRequest">): {
  readonly onRequest?: RequestObserver;
} {
  return onRequest === undefined ? {} : { onRequest };
}

/** Where the flags and the environment say that the hub is. */
export function hubSource(
  { hub: { kubeconfig, context, overrides } }: Pick<Flags, "hub">,
  environment: Environment,
): KubeconfigSource {
  return {
    environment,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(overrides === undefined ? {} : { overrides }),
  };
}

interface SpokesOptions {
  readonly source: KubeconfigSource;
  readonly pluginNamespace: string | undefined;
  readonly pluginRoots: readonly string[];
  readonly userAgent: string;
  /** Gets the files that have to be removed at the end. */
  readonly files: AsyncDisposableStack;
  /** Where built-in readers read Secrets. */
  readonly hub: KubeClient;
  readonly onCredential?: (credential: Credential) => void;
  readonly onRequest?: RequestObserver;
}

async function openSpokes(
  file: string,
  { source, pluginNamespace, pluginRoots, userAgent, files, ...seen }: SpokesOptions,
  signal: AbortSignal,
): Promise<{ readonly reach: ClusterAccess["reach"]; readonly ways: SpokeWays }> {
  const { loadProviderFile } = await import("../../access/provider-file.ts");
  const { connectSpoke, freshCredential } = await import("../../access/spoke-connection.ts");
  const { accessOf } = await import("../../access/resolved-access.ts");
  const { selectProvider } = await import("../../access/select-provider.ts");
  const providers = await loadProviderFile(file, signal);
  const environment = await pluginSurroundings({ source, pluginNamespace, files });
  // No limit on plugins but the number of spokes read at once: a plugin that hangs must not hold back other spokes.
  const deps = { environment, userAgent, pluginRoots, ...seen };
  return {
    reach: (profile, deadline) => connectSpoke({ profile, providers }, deps, deadline),
    ways: {
      resolve: (profile) => accessOf(profile, selectProvider(profile, providers)),
      credential: (access, deadline) => freshCredential(access, deps, deadline),
    },
  };
}

// Inside a cluster, and with a single kubeconfig used as it is, plugins find the hub by themselves.
async function pluginSurroundings({
  source,
  pluginNamespace,
  files,
}: Pick<SpokesOptions, "source" | "pluginNamespace" | "files">): Promise<Environment> {
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
