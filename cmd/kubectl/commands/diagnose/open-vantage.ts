import type { KubeconfigSource } from "../../../../access/hub/kubeconfig.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { clientVersion } from "../../client-version.ts";
import type { Flags } from "../../flags.ts";
import { requestObserver } from "../../spokes/open-cluster-access.ts";
import type { WalkContext } from "./walk.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The hub as one identity, and the environment of exec plugins. */
export interface OpenVantage extends AsyncDisposable {
  readonly hub: KubeClient;
  /** Namespace of the kubeconfig context. */
  readonly namespace: string;
  readonly environment: Environment;
  readonly userAgent: string;
}

interface VantageOptions extends Pick<WalkContext, "onCredential"> {
  readonly env: Environment;
  /** A user of the hub to act as; the kubeconfig's user needs the right to impersonate it. */
  readonly actAs?: string;
  /** Namespace in which plugins look, unless `--plugin-namespace` says another one. */
  readonly pluginNamespace?: string;
}

/**
 * Opens the hub of the flags. Plugins get a kubeconfig of their own with the same hub, user and identity, so that they see what the walk
 * sees (cli.md, D10). Throws FleetError `ConfigInvalid`.
 */
export async function openVantage(
  flags: Pick<Flags, "hub" | "pluginNamespace" | "onRequest">,
  { env, actAs, pluginNamespace, onCredential }: VantageOptions,
): Promise<OpenVantage> {
  const { connectHub } = await import("../../../../access/hub/hub.ts");
  const { loadKubeconfig } = await import("../../../../access/hub/kubeconfig.ts");
  const { writePluginKubeconfig } = await import("../../spokes/private-folder.ts");
  await using files = new AsyncDisposableStack();
  const source = sourceOf(flags, { env, actAs });
  const config = loadKubeconfig(source);
  const userAgent = `kubectl-knfleet/${clientVersion}`;
  const watching = onCredential === undefined ? {} : { onCredential };
  const hub = await connectHub({ ...source, userAgent, ...watching, ...requestObserver(flags) });
  const isOwn = config.files.length === 0 && source.overrides === undefined;
  const place = flags.pluginNamespace ?? pluginNamespace;
  const environment = isOwn
    ? env
    : { ...env, KUBECONFIG: files.use(await writePluginKubeconfig(config, place)).path };
  const kept = files.move();
  return {
    hub: hub.client,
    namespace: config.namespace,
    environment,
    userAgent,
    async [Symbol.asyncDispose]() {
      // Ending a connection to a server that is silent takes seconds, and the process ends anyway.
      void hub[Symbol.asyncDispose]().then(undefined, () => undefined);
      await kept.disposeAsync();
    },
  };
}

function sourceOf(
  { hub: { kubeconfig, context, overrides } }: Pick<Flags, "hub">,
  { env, actAs }: Pick<VantageOptions, "env" | "actAs">,
): KubeconfigSource {
  const impersonation =
    actAs === undefined ? {} : { userFields: { ...overrides?.userFields, as: actAs } };
  const all = { ...overrides, ...impersonation };
  return {
    environment: env,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(Object.keys(all).length === 0 ? {} : { overrides: all }),
  };
}
