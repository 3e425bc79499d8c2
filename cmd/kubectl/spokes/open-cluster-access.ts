import { delimiter } from "node:path";

import type { RequestObserver } from "../../../access/http/request.ts";
import type { KubeconfigSource } from "../../../access/hub/kubeconfig.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Credential } from "../../../access/plugins/credential.ts";
import type { Clock } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { plainText } from "../../../api/foreign-text.ts";
import { userAgent } from "../client-version.ts";
import type { Flags } from "../flags.ts";
import { malformedOf } from "../hub/malformed-objects.ts";
import { type Environment, openHub } from "../hub/open-hub.ts";
import type { ClusterAccess, SpokesAccess } from "./cluster-access.ts";

interface OpenOptions {
  readonly env: Environment;
  /** Whether the command reaches spokes. */
  readonly spokes: boolean;
  /** Called with every credential in use, so that the caller can keep it out of its output. */
  readonly onCredential?: (credential: Credential) => void;
}

/**
 * Opens the access to the hub and the spokes, with the named provider file or else with that of the hub. Reads files, and sends no request yet.
 * Throws FleetError `ConfigInvalid` for a kubeconfig or provider file that is not usable.
 */
export async function openClusterAccess(
  flags: Flags,
  { spokes, ...options }: OpenOptions,
  signal: AbortSignal,
): Promise<ClusterAccess> {
  if (flags.recorded !== undefined) {
    const { recordedAccess } = await import("../bundle/recorded-client.ts");
    return recordedAccess(flags.recorded, flags);
  }
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await openHub(flags, options));
  const { client, namespace, source, observers } = hub;
  const opened = spokes
    ? await spokesOpener(
        flags,
        { clock: systemClock, source, userAgent, files: stack, hub: client, ...observers },
        signal,
      )
    : () => Promise.resolve({ reach: undefined });
  const kept = stack.move();
  return {
    hub: client,
    namespace,
    hubTimeoutMs: flags.hub.requestTimeoutMs,
    ...malformedOf(flags),
    spokes: opened,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

interface SpokesOptions {
  readonly clock: Clock;
  readonly source: KubeconfigSource;
  readonly userAgent: string;
  /** Removes temporary files at the end. */
  readonly files: AsyncDisposableStack;
  /** Hub whose Secrets the built-in readers read. */
  readonly hub: KubeClient;
  readonly onCredential?: (credential: Credential) => void;
  readonly onRequest?: RequestObserver;
}

/** Reads a named provider file at once. Asks the hub once, when the command reaches spokes. */
async function spokesOpener(
  flags: Flags,
  { files, source, ...options }: SpokesOptions,
  signal: AbortSignal,
): Promise<ClusterAccess["spokes"]> {
  const { providerFile, pluginNamespace, pluginRoots } = flags;
  if (providerFile === undefined) {
    let spokes: Promise<SpokesAccess> | undefined;
    const { environment } = source;
    return () => (spokes ??= spokesByHub(flags, { environment, ...options }, signal));
  }
  const { loadProviderFile } = await import("../../../access/providers/provider-file.ts");
  const { namedSpokes } = await import("./reached-spokes.ts");
  const providers = await loadProviderFile({ path: providerFile }, signal);
  const environment = await preparePluginEnvironment({ source, pluginNamespace, files });
  const spokes = namedSpokes(providers, { environment, pluginRoots, ...options });
  return () => Promise.resolve(spokes);
}

async function spokesByHub(
  flags: Flags,
  options: Omit<SpokesOptions, "files" | "source"> & { readonly environment: Environment },
  signal: AbortSignal,
): Promise<SpokesAccess> {
  const { readHubProviderFile } = await import("../hub/hub-provider-file.ts");
  const { pluginNamespace } = flags;
  const { environment, hub } = options;
  const timeoutMs = flags.hub.requestTimeoutMs;
  const request = { pluginNamespace, environment, timeoutMs };
  const found = await readHubProviderFile(hub, request, signal).catch((error: unknown) => {
    if (signal.aborted) return "the command was ended";
    throw error;
  });
  if (typeof found === "string") return { reach: undefined, missing: found };
  flags.onNote?.(`provider file: ${found.place}`);
  if (found.replaced.length > 0) {
    flags.onNote?.(`built-in readers stand for ${found.replaced.map(plainText).join(", ")}`);
  }
  const { hubSpokes } = await import("./reached-spokes.ts");
  return hubSpokes(found, options);
}

/**
 * Prepares the environment in which plugins find the hub of the command, with the same user and namespace. Writes a kubeconfig for them where they would
 * find another hub (cli.md, D10). Throws FleetError `ConfigInvalid`.
 */
export async function preparePluginEnvironment({
  source,
  pluginNamespace,
  files,
}: Pick<SpokesOptions, "source" | "files"> & Pick<Flags, "pluginNamespace">): Promise<Environment> {
  const { environment, kubeconfig, context, overrides } = source;
  const listed = (environment["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const asIs = [context, overrides, pluginNamespace].every((value) => value === undefined);
  // With one unchanged kubeconfig, and inside a cluster, plugins find the hub themselves.
  if (asIs && kubeconfig !== undefined) return { ...environment, KUBECONFIG: kubeconfig };
  if (asIs && listed.length <= 1) return environment;
  const { loadKubeconfig } = await import("../../../access/hub/kubeconfig.ts");
  const { writePluginKubeconfig } = await import("./private-folder.ts");
  const config = loadKubeconfig(source);
  if (config.files.length === 0 && overrides === undefined) return environment;
  const { path } = files.use(await writePluginKubeconfig(config, pluginNamespace));
  return { ...environment, KUBECONFIG: path };
}
