import type { KubeconfigSource } from "../../../access/hub/kubeconfig.ts";
import { PluginLimits } from "../../../access/plugins/plugin-limits.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ActionInput } from "../action.ts";
import { releaseFolders } from "../flags.ts";
import { parseDurationMs } from "../output/duration.ts";
import { preparePluginEnvironment } from "../spokes/open-cluster-access.ts";
import type { DiagnoseFlags } from "./diagnosis.ts";
import type { openReleaseRendering } from "./hops/refused-object.ts";
import type { WalkContext } from "./walk.ts";

interface Vantage extends Pick<WalkContext, "hub" | "onCredential"> {
  /** How `hub` was opened. Plugins get the same hub, user and identity. */
  readonly source: KubeconfigSource;
  /** Namespace in which plugins look for Secrets, unless `--plugin-namespace` names another one. */
  readonly pluginNamespace?: string;
  /** Gets the files that must be removed at the end of the walk. */
  readonly files: AsyncDisposableStack;
}

type WalkFlags = Pick<DiagnoseFlags, "exec" | "execTimeout">;

/** Prepares walks from an open hub with the settings of the command line. Throws UsageError, and FleetError `ConfigInvalid`. */
export async function prepareWalk(
  { flags, options, terminal }: Omit<ActionInput<WalkFlags>, "args">,
  { hub, onCredential, source, pluginNamespace: usualNamespace, files }: Vantage,
): Promise<WalkContext> {
  const { execTimeout } = options;
  const { pluginNamespace, onRequest } = flags;
  return {
    hub,
    environment: await preparePluginEnvironment({
      source,
      pluginNamespace: pluginNamespace ?? usualNamespace,
      files,
    }),
    now: terminal.now,
    hubTimeoutMs: flags.hub.requestTimeoutMs,
    ...(onRequest === undefined ? {} : { onRequest }),
    ...(onCredential === undefined ? {} : { onCredential }),
    hopTimeoutMs: flags.spokeTimeoutMs,
    providerFile: flags.providerFile,
    ...(pluginNamespace === undefined ? {} : { pluginNamespace }),
    pluginRoots: flags.pluginRoots,
    exec: options.exec === true,
    plugins: new PluginLimits(systemClock),
    execTimeoutMs:
      execTimeout === undefined ? 10_000 : parseDurationMs(execTimeout, "--exec-timeout"),
    rendering: renderingOnce({ ...releaseFolders(flags), environment: terminal.env }),
  };
}

type OpenRendering = typeof openReleaseRendering;

/** Finds and verifies the release files for the first component that needs them, and keeps them for the others of the walk. */
function renderingOnce(
  wanted: Parameters<OpenRendering>[0],
): (signal: AbortSignal) => ReturnType<OpenRendering> {
  let opened: ReturnType<OpenRendering> | undefined;
  const open = async (signal: AbortSignal): ReturnType<OpenRendering> => {
    const refusedObject = await import("./hops/refused-object.ts");
    return refusedObject.openReleaseRendering(wanted, signal);
  };
  return (signal) => {
    opened ??= open(signal);
    // The time of one component may have been over meanwhile: the next one tries again.
    opened.catch(() => (opened = undefined));
    return opened;
  };
}
