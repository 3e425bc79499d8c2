import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { describe } from "../../api/kubernetes.ts";
import { type Endpoint, endpointOf, endpointWarnings } from "../http/endpoint.ts";
import { type ExecPlan, execPlan, fingerprint } from "../plugins/exec-plan.ts";
import type { Provider, ProviderFile } from "../providers/provider-config.ts";
import { allowsProxy, allowsServer } from "../providers/provider-rules.ts";
import { isHealthy, selectProvider, type SelectedProvider } from "../providers/select-provider.ts";

/** All that is needed to reach the cluster of a profile. */
export interface ResolvedAccess {
  readonly profile: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly provider: string;
  readonly endpoint: Endpoint;
  readonly plan: ExecPlan;
  readonly fingerprint: string;
  /** `credentialProviders` is deprecated. */
  readonly source: "accessProviders" | "credentialProviders";
  /** Matching providers that were passed over because the provider file does not make them usable. */
  readonly skipped: readonly string[];
  /** How many plugins of the provider may run at the same time. */
  readonly maxConcurrency?: number;
  /** `allowedServers` of the provider. */
  readonly allowedServers: readonly string[];
  /** `allowedProxies` of the provider. */
  readonly allowedProxies: readonly string[];
  /** What of the access entry is probably not meant, or will soon not work. */
  readonly warnings: readonly string[];
}

/**
 * How to reach the cluster that a profile describes, from the profile and the provider file alone.
 *
 * Throws `FleetError` with a reason of `TargetClusterResolved`: `AccessProviderNotConfigured`, `ClusterProfileNotReady`,
 * `MulticlusterDisabled`, `AccessProviderFailed` or `RemoteClientCreationFailed`.
 */
export function resolveAccess(
  profile: ClusterProfile,
  providers: ProviderFile | undefined,
): ResolvedAccess {
  const { namespace, name } = profile.metadata;
  if (providers === undefined) throw notConfigured();
  if (!isHealthy(profile)) {
    throw new FleetError(
      "ClusterProfileNotReady",
      `${describe({ kind: "ClusterProfile", namespace, name })} has no condition ControlPlaneHealthy=True`,
    );
  }
  return accessOf(profile, selectProvider(profile, providers));
}

/**
 * How to reach the cluster of a profile with the provider that was selected for it, whether or not the profile is healthy. Throws
 * `FleetError` `AccessProviderFailed` or `RemoteClientCreationFailed`.
 */
export function accessOf(
  profile: ClusterProfile,
  { provider, entry, source, skipped }: SelectedProvider,
): ResolvedAccess {
  const { namespace, name, uid } = profile.metadata;
  const { systemRoots, allowInsecure, maxConcurrency } = provider;
  const nowMs = Date.now();
  const endpoint = endpointOf(entry.cluster, { systemRoots, allowInsecure, nowMs });
  if (!allowsServer(provider.rules, endpoint.server)) {
    throw notAllowed(provider, "allowedServers", "server");
  }
  if (!allowsProxy(provider.rules, endpoint.proxy)) {
    throw notAllowed(provider, "allowedProxies", "proxy");
  }
  const plan = execPlan(provider, { profile, cluster: entry.cluster ?? {} });
  return Object.freeze({
    profile: Object.freeze({ namespace, name, uid }),
    provider: provider.name,
    endpoint,
    plan,
    fingerprint: fingerprint(endpoint, plan, provider.rules),
    source,
    skipped,
    allowedServers: provider.rules.servers ?? [],
    allowedProxies: provider.rules.proxies ?? [],
    warnings: endpointWarnings(entry.cluster ?? {}, nowMs),
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
  });
}

function notAllowed({ name }: Provider, rule: string, what: string): FleetError {
  return new FleetError(
    "RemoteClientCreationFailed",
    `${rule} of the provider ${JSON.stringify(name)} does not hold the ${what} of the profile`,
    { code: "EndpointInvalid" },
  );
}

/** No provider file was configured. */
export function notConfigured(): FleetError {
  return new FleetError("AccessProviderNotConfigured", "No provider file is configured");
}
