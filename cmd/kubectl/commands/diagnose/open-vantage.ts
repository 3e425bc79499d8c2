import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { Flags } from "../../flags.ts";
import { type Environment, openHub } from "../../hub/open-hub.ts";

/** The hub as one identity, and the environment of exec plugins. */
export interface OpenVantage extends AsyncDisposable {
  readonly hub: KubeClient;
  /** Namespace of the kubeconfig context. */
  readonly namespace: string;
  readonly environment: Environment;
  readonly userAgent: string;
}

type VantageOptions = Parameters<typeof openHub>[1] & {
  /** Namespace in which plugins look, unless `--plugin-namespace` says another one. */
  readonly pluginNamespace?: string;
};

/**
 * Opens the hub of the flags. Plugins get a kubeconfig of their own with the same hub, user and identity, so that they see what the walk
 * sees (cli.md, D10). Throws FleetError `ConfigInvalid`.
 */
export async function openVantage(
  flags: Pick<Flags, "hub" | "pluginNamespace" | "onRequest">,
  { pluginNamespace, ...options }: VantageOptions,
): Promise<OpenVantage> {
  const { loadKubeconfig } = await import("../../../../access/hub/kubeconfig.ts");
  const { writePluginKubeconfig } = await import("../../spokes/private-folder.ts");
  await using opened = new AsyncDisposableStack();
  const { client, namespace, source, userAgent } = opened.use(await openHub(flags, options));
  const config = loadKubeconfig(source);
  const { environment } = source;
  const isOwn = config.files.length === 0 && source.overrides === undefined;
  const place = flags.pluginNamespace ?? pluginNamespace;
  const ofPlugins = isOwn
    ? environment
    : { ...environment, KUBECONFIG: opened.use(await writePluginKubeconfig(config, place)).path };
  const kept = opened.move();
  return {
    hub: client,
    namespace,
    environment: ofPlugins,
    userAgent,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
