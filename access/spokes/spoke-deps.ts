import type { AnswerBudget } from "../answer-limits.ts";
import type { TurnWaits } from "../deadline.ts";
import { addressGuard, type AddressGuard } from "../http/address-guard.ts";
import type { Silence } from "../http/liveness.ts";
import type { RequestCounters } from "../http/request-counters.ts";
import type { RequestObserver } from "../http/request.ts";
import type { MayWrite } from "../http/write-permit.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isBuiltIn, runBuiltIn } from "../plugins/built-in-plugins.ts";
import type { Credential } from "../plugins/credential.ts";
import { runExecPlugin } from "../plugins/exec-plugin.ts";
import { PluginLimits } from "../plugins/plugin-limits.ts";
import { pluginEnvironment } from "../plugins/plugin-policy.ts";
import { AttemptSteps, type StepObserver } from "./attempt-steps.ts";
import type { ConnectTurns } from "./connect-turns.ts";
import { PathMetrics } from "./path-metrics.ts";
import type { ResolvedAccess } from "./resolved-access.ts";

export interface SpokeDeps {
  /** Environment of our process; plugins see a part of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userAgent: string;
  /** Where built-in readers read Secrets; without it they fail. */
  readonly hub?: Pick<KubeClient, "get">;
  readonly counters?: RequestCounters;
  readonly onRequest?: RequestObserver;
  readonly path?: PathMetrics;
  readonly onStep?: StepObserver;
  /** Called when a plugin gave a spoke the token of others, which have another server. */
  readonly onSharedToken?: (spoke: string, others: readonly string[]) => void;
  /** Folders below which the plugins' real paths have to be; absent or empty: anywhere. */
  readonly pluginRoots?: readonly string[];
  /** Limits how many plugins run at the same time. */
  readonly plugins?: PluginLimits;
  /** Limits what spokes may answer at the same time. */
  readonly answers?: AnswerBudget;
  /** Limits how many connections are attempted at the same time. */
  readonly turns?: ConnectTurns;
  /** Told when a plugin waits for its place. */
  readonly waits?: TurnWaits;
  readonly silence?: Silence;
  /** How long a server may say nothing on its watches before it is asked. */
  readonly quiet?: Silence;
  /** Absent: everything may be sent at any time. */
  readonly mayWrite?: MayWrite;
  /** Called with every credential that is obtained, for who has to keep it out of what he writes. */
  readonly onCredential?: (credential: Credential) => void;
}

/** How a credential is obtained: paced and limited, measured and reported. */
export function obtaining(
  access: ResolvedAccess,
  deps: SpokeDeps,
  steps: AttemptSteps,
): (signal: AbortSignal) => Promise<Credential> {
  const plugins = deps.plugins ?? new PluginLimits();
  const surroundings = {
    environment: pluginEnvironment(deps.environment),
    now: () => new Date(),
    policy: { roots: deps.pluginRoots ?? [] },
  };
  const path = deps.path ?? new PathMetrics();
  const spoke = spokeOf(access);
  const measured = (work: () => Promise<Credential>, signal: AbortSignal): Promise<Credential> =>
    steps.plugin(() => path.measure(access.provider, work, signal));
  const entered = async (signal: AbortSignal): Promise<Disposable> => {
    using _wait = deps.waits?.begin();
    return await plugins.enter(access, signal);
  };
  let isFirst = true;
  const run = async (signal: AbortSignal): Promise<Credential> => {
    await plugins.pace.enter(spoke, isFirst, signal);
    isFirst = false;
    if (isBuiltIn(access.plan.command)) {
      const withHub = { ...surroundings, hub: deps.hub };
      return measured(() => runBuiltIn(access.plan, withHub, signal), signal);
    }
    using _place = await entered(signal);
    // Awaited here, or the place would be given back at once.
    return await measured(() => runExecPlugin(access.plan, surroundings, signal), signal);
  };
  return async (signal) => {
    const credential = await run(signal);
    signal.throwIfAborted();
    deps.onCredential?.(credential);
    path.credentialOf(spoke, credential);
    const { server } = access.endpoint;
    const sharers = path.tokens.note(spoke, server, credential.authorization);
    if (sharers.length > 0) deps.onSharedToken?.(spoke, sharers);
    return credential;
  };
}

/** A credential for the cluster of a profile, of a plugin run of its own; nothing is connected. Throws `FleetError` `AccessProviderFailed`, or the reason of the signal. */
export function freshCredential(
  access: ResolvedAccess,
  deps: SpokeDeps,
  signal: AbortSignal,
): Promise<Credential> {
  return obtaining(access, deps, new AttemptSteps(access, deps.onStep))(signal);
}

/** How the metrics name it. */
export function spokeOf({ profile: { namespace, name } }: ResolvedAccess): string {
  return `${namespace}/${name}`;
}

/** Where connections of a way in may go. */
export function guardOf(
  access: Pick<ResolvedAccess, "allowedServers" | "allowedProxies">,
  { environment }: Pick<SpokeDeps, "environment">,
): AddressGuard {
  return addressGuard({
    allowed: access.allowedServers,
    allowedProxies: access.allowedProxies,
    // In a pod there is nothing but the pod itself; elsewhere clusters of kind and k3d are there.
    loopback: (environment["KUBERNETES_SERVICE_HOST"] ?? "") === "",
  });
}
