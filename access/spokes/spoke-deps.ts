import type { ClusterProfileRef } from "../../api/component.ts";
import { nameId } from "../../api/keys.ts";
import type { AnswerBudget } from "../answer-limits.ts";
import { addressGuard, type AddressGuard } from "../http/address-guard.ts";
import type { Silence } from "../http/liveness.ts";
import type { SpokePace } from "../http/paced-requester.ts";
import type { RequestCounters } from "../http/request-counters.ts";
import type { OpenTransport, RequestObserver } from "../http/request.ts";
import type { KeepBudget } from "../kube/keep-budget.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isBuiltIn, runBuiltIn } from "../plugins/built-in-plugins.ts";
import type { Credential } from "../plugins/credential.ts";
import { runExecPlugin } from "../plugins/exec-plugin.ts";
import type { PluginHomes } from "../plugins/plugin-homes.ts";
import { PluginLimits } from "../plugins/plugin-limits.ts";
import { pluginEnvironment } from "../plugins/plugin-policy.ts";
import type { Clock } from "../time/clock.ts";
import type { TurnWaits } from "../time/deadline.ts";
import { AttemptSteps, type StepObserver } from "./attempt-steps.ts";
import type { ConnectTurns } from "./connect-turns.ts";
import { PathMetrics } from "./path-metrics.ts";
import type { ResolvedAccess } from "./resolved-access.ts";

export interface SpokeDeps {
  readonly clock: Clock;
  /** Environment of this process. Plugins get a part of it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly userAgent: string;
  /** Hub whose Secrets the built-in readers read. They fail without it. */
  readonly hub?: Pick<KubeClient, "get">;
  readonly counters?: RequestCounters;
  readonly onRequest?: RequestObserver;
  readonly openTransport?: OpenTransport;
  readonly path?: PathMetrics;
  readonly onStep?: StepObserver;
  /** Called when a plugin returned a token that spokes with another server have, too. */
  readonly onSharedToken?: (spoke: string, others: readonly string[]) => void;
  /** Called when a connection failed by a bug of this program, and not by its server or its plugin. */
  readonly onBug?: (spoke: string, error: unknown) => void;
  /** Folders that must contain the real paths of plugins. Absent or empty: any folder. */
  readonly pluginRoots?: readonly string[];
  /** Gives each identity a `HOME`. Absent: plugins have that of this process, as a person at a desk wants it. */
  readonly homes?: PluginHomes;
  /** Limits how many plugins run at the same time. */
  readonly plugins?: PluginLimits;
  /** Limits what spokes may answer at the same time. */
  readonly answers?: AnswerBudget;
  /** Limits what is kept of spokes. Absent: no limit. */
  readonly kept?: KeepBudget;
  /** Limits what a spoke may cost. Absent: no limit. */
  readonly pace?: SpokePace;
  /** Limits how many connections are attempted at the same time. */
  readonly turns?: ConnectTurns;
  /** Counts the time in which a plugin waits for its place. */
  readonly waits?: TurnWaits;
  readonly silence?: Silence;
  /** How long the watches of a server may be silent before a question checks the server. */
  readonly quiet?: Silence;
  /** Absent: everything may be sent at any time. */
  readonly mayWrite?: (profile: ClusterProfileRef) => boolean;
  /**
   * Failures do not say what is behind the address of a ClusterProfile, unless `allowedServers` of its provider names it: a tenant may have written it. Security: who may
   * use which cluster.
   */
  readonly conceals?: boolean;
  /** Called with each obtained credential, so that the caller can keep it out of its output. */
  readonly onCredential?: (credential: Credential) => void;
}

/** Returns the function that obtains a credential. Its plugin runs are paced, limited, measured and reported. */
export function credentialObtainer(
  access: ResolvedAccess,
  deps: SpokeDeps,
  steps: AttemptSteps,
): (signal: AbortSignal) => Promise<Credential> {
  const plugins = deps.plugins ?? new PluginLimits(deps.clock);
  const context = {
    environment: pluginEnvironment(deps.environment),
    clock: deps.clock,
    policy: { roots: deps.pluginRoots ?? [] },
  };
  const path = deps.path ?? new PathMetrics(deps.clock);
  const spoke = spokeName(access);
  const measure = (work: () => Promise<Credential>, signal: AbortSignal): Promise<Credential> =>
    steps.measurePlugin(() => path.measure(access.provider, work, signal));
  const enterPlugins = async (signal: AbortSignal): Promise<Disposable> => {
    using _wait = deps.waits?.begin();
    return await plugins.enter(access, signal);
  };
  let isFirst = true;
  const run = async (signal: AbortSignal): Promise<Credential> => {
    await plugins.pace.enter(spoke, { isFirst, renewed: access.renewed }, signal);
    isFirst = false;
    if (isBuiltIn(access.plan.command)) {
      const withHub = { ...context, hub: deps.hub };
      return measure(() => runBuiltIn(access.plan, withHub, signal), signal);
    }
    using _place = await enterPlugins(signal);
    // Awaited here: otherwise `using` would end the place at once.
    return await measure(async () => {
      const { environment: usual } = context;
      // The connection may end before this run does.
      using _home = deps.homes?.hold(access.plan);
      const environment = (await deps.homes?.environmentOf(access.plan, usual)) ?? usual;
      return await runExecPlugin(access.plan, { ...context, environment }, signal);
    }, signal);
  };
  return async (signal) => {
    const credential = await run(signal);
    signal.throwIfAborted();
    deps.onCredential?.(credential);
    path.setCredential(spoke, credential);
    const { server } = access.endpoint;
    const sharers = path.tokens.note(spoke, server, credential.authorization);
    if (sharers.length > 0) deps.onSharedToken?.(spoke, sharers);
    return credential;
  };
}

/** Obtains a credential for the cluster of a profile with one run of the plugin, without a connection. Throws `FleetError` `AccessProviderFailed`, or the reason of the signal. */
export function obtainFreshCredential(
  access: ResolvedAccess,
  deps: SpokeDeps,
  signal: AbortSignal,
): Promise<Credential> {
  return credentialObtainer(access, deps, new AttemptSteps(access, deps))(signal);
}

/** The name of a spoke in metrics: `namespace/name` of its ClusterProfile. */
export function spokeName({ profile }: ResolvedAccess): string {
  return nameId(profile);
}

/** The addresses to which connections of this access may go. */
export function addressGuardOf(
  access: Pick<ResolvedAccess, "allowedServers" | "allowedProxies">,
  { environment }: Pick<SpokeDeps, "environment">,
): AddressGuard {
  return addressGuard({
    allowed: access.allowedServers,
    allowedProxies: access.allowedProxies,
    // In a pod, loopback leads to the pod itself. Elsewhere it leads to clusters of kind and k3d.
    loopback: (environment["KUBERNETES_SERVICE_HOST"] ?? "") === "",
  });
}
