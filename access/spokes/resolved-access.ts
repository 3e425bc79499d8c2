import {
  type ClusterProfile,
  isHealthy,
  isKeptByUs,
  renewedAnnotation,
} from "../../api/cluster-profile.ts";
import { conditionOf } from "../../api/conditions.ts";
import { FleetError } from "../../api/errors.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { describe } from "../../api/kubernetes.ts";
import { conditionSays } from "../../api/sentences.ts";
import type { Times } from "../http/connector.ts";
import { type Endpoint, endpointWarnings } from "../http/endpoint.ts";
import { type ExecPlan, fingerprint } from "../plugins/exec-plan.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import { distrustedProfile, type ReferencePolicy } from "../providers/reference-policy.ts";
import { type SelectedProvider, selectProvider, wayOf } from "../providers/select-provider.ts";
import type { Clock } from "../time/clock.ts";

/** Everything that is needed to reach the cluster of a profile. */
export interface ResolvedAccess {
  readonly profile: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly provider: string;
  readonly endpoint: Endpoint;
  readonly plan: ExecPlan;
  readonly fingerprint: string;
  /** When `register` renewed the credential; undefined: it did not. */
  readonly renewed: string | undefined;
  /** List of the profile that has the provider. `credentialProviders` is deprecated. */
  readonly source: "accessProviders" | "credentialProviders";
  /** Matching providers that were skipped because the provider file does not make them usable. */
  readonly skipped: readonly string[];
  /** How many plugins of the provider may run at the same time. */
  readonly maxConcurrency?: number;
  /** `allowedServers` of the provider. */
  readonly allowedServers: readonly string[];
  /** `allowedProxies` of the provider. */
  readonly allowedProxies: readonly string[];
  /** Sentences about the access entry; see `endpointWarnings`. */
  readonly warnings: readonly string[];
}

/**
 * Resolves how to reach the cluster of a profile, from the profile and the provider file alone. `nowMs` is the wall clock, for certificates that have expired.
 *
 * Throws `FleetError` with a reason of `TargetClusterResolved`: `AccessProviderNotConfigured`, `ClusterProfileNotReady`,
 * `MulticlusterDisabled`, `AccessProviderFailed` or `RemoteClientCreationFailed`.
 */
export function resolveAccess(
  profile: ClusterProfile,
  providers: ProviderFile | undefined,
  nowMs: number,
): ResolvedAccess {
  const { namespace, name } = profile.metadata;
  if (providers === undefined) throw notConfigured();
  if (!isHealthy(profile)) {
    throw new FleetError(
      "ClusterProfileNotReady",
      `${describe({ kind: "ClusterProfile", namespace, name })} has no condition ControlPlaneHealthy=True${whyUnhealthy(profile)}`,
    );
  }
  return accessOf(profile, selectProvider(profile, providers), nowMs);
}

const longestReason = 128;

/** The condition as it is. Other managers may change their message all the time, which a condition must not follow. */
function whyUnhealthy(profile: ClusterProfile): string {
  const condition = conditionOf(profile.status?.conditions, "ControlPlaneHealthy");
  if (condition === undefined) return "";
  const { status, reason = "", message = "" } = condition;
  const said = `: ${conditionSays.of(status, foreignText(reason, longestReason))}`.trimEnd();
  return isKeptByUs(profile) && message !== "" ? `${said}: ${foreignText(message)}` : said;
}

/**
 * Resolves how to reach the cluster of a profile with the selected provider, also when the profile is not healthy. Throws `FleetError`
 * `AccessProviderFailed` or `RemoteClientCreationFailed`.
 */
export function accessOf(
  profile: ClusterProfile,
  { provider, entry, source, skipped }: SelectedProvider,
  nowMs: number,
): ResolvedAccess {
  const { namespace, name, uid } = profile.metadata;
  const { maxConcurrency } = provider;
  const renewed = profile.metadata.annotations?.[renewedAnnotation];
  const { endpoint, plan } = wayOf({ profile, provider, entry }, nowMs);
  return Object.freeze({
    profile: Object.freeze({ namespace, name, uid }),
    provider: provider.name,
    endpoint,
    plan,
    // A credential that was renewed is used at once, by a new connection.
    fingerprint: fingerprint(endpoint, plan, { ...provider.rules, renewed }),
    renewed,
    source,
    skipped,
    allowedServers: provider.rules.servers ?? [],
    allowedProxies: provider.rules.proxies ?? [],
    warnings: endpointWarnings(entry.cluster ?? {}, nowMs),
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
  });
}

/** The error for a program without a provider file. */
export function notConfigured(): FleetError {
  return new FleetError("AccessProviderNotConfigured", "No provider file is configured");
}

/** The result of resolving a profile: how to reach its cluster, or why it cannot be reached. */
export type AccessOutcome = (
  | { readonly kind: "access"; readonly access: ResolvedAccess }
  | { readonly kind: "error"; readonly error: FleetError }
) & {
  /** When it was resolved. */
  readonly resolved?: Times;
};

/** Checks that the manager of a profile is trusted, and resolves the access. Throws no FleetError. */
export function accessOutcomeOf(
  profile: ClusterProfile,
  {
    clock,
    trust = {},
    providers,
  }: {
    readonly clock: Pick<Clock, "date">;
    readonly trust?: Pick<ReferencePolicy, "trustedManagers">;
    readonly providers: ProviderFile | undefined;
  },
): AccessOutcome {
  const distrust = distrustedProfile(profile, trust);
  if (distrust !== undefined) {
    return { kind: "error", error: new FleetError("ReferenceNotPermitted", distrust) };
  }
  try {
    return { kind: "access", access: resolveAccess(profile, providers, clock.date().getTime()) };
  } catch (error) {
    if (error instanceof FleetError) return { kind: "error", error };
    throw error;
  }
}

/** Adds to an error that the provider file on disk is not valid, and so not the one in use. */
export function withFileNote(outcome: AccessOutcome, isFileValid: boolean): AccessOutcome {
  if (isFileValid || outcome.kind !== "error") return outcome;
  const { reason, code, sentence, cause } = outcome.error;
  const text = `${sentence}; the provider file was changed and is not usable, the last good one is in use`;
  const options = { ...(code === undefined ? {} : { code }), cause };
  return { ...outcome, error: new FleetError(reason, text, options) };
}

/** Whether two outcomes lead to the same connection, or have the same error. */
export function isSameOutcome(a: AccessOutcome, b: AccessOutcome): boolean {
  if (a.kind === "access" && b.kind === "access") {
    return (
      a.access.fingerprint === b.access.fingerprint && a.access.profile.uid === b.access.profile.uid
    );
  }
  if (a.kind === "error" && b.kind === "error") {
    return a.error.reason === b.error.reason && a.error.message === b.error.message;
  }
  return false;
}
