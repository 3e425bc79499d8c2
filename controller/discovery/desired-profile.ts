import type { EndpointCheck } from "../../access/profiles/check-endpoint.ts";
import {
  accessEntry,
  type ProfileSource,
  type ProfileStatusSource,
  profileStatusManifest,
} from "../../access/profiles/profile-objects.ts";
import {
  type AccessCluster,
  type ClusterProfile,
  propertiesOf,
} from "../../api/cluster-profile.ts";
import { conditionOf } from "../../api/conditions.ts";
import { isSameJson } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { describe, type Manifest, type NamespacedName } from "../../api/kubernetes.ts";
import {
  managers,
  type Source,
  sourceAnnotations,
  type SourceAccess,
  type SourceHealth,
} from "./source.ts";

/** Name of the provider that profiles of discovery offer. The provider file has to have it. */
const provider = "kubeconfig-secretreader";
export const healthCondition = "ControlPlaneHealthy";
/** A profile without a source is deleted when this time has passed. */
export const graceMs = 5 * 60_000;
const longestMessage = 1_024;

/** What is known of the cluster of one source. */
export interface ClusterFacts {
  readonly access: SourceAccess;
  /** Undefined: there is no address to check. */
  readonly check: EndpointCheck | undefined;
}

/** The profile of a source. `present`: the profile on the hub, whose version counts while the cluster does not tell one. */
export function desiredProfile(
  source: Source,
  { access, check }: ClusterFacts,
  target: {
    readonly ref: NamespacedName;
    readonly apiVersion: string;
    readonly present: ClusterProfile | undefined;
  },
): ProfileSource {
  const { ref, apiVersion, present } = target;
  const asked = check?.kind === "answers" ? check.kubernetes : undefined;
  const { secret, context } = source;
  return {
    ...ref,
    apiVersion,
    manager: managers[source.producer],
    displayName: source.name,
    labels: source.labels,
    annotations: sourceAnnotations(source),
    access:
      access.kind === "cluster"
        ? accessEntry({
            provider,
            reader: provider,
            secret,
            cluster: access.cluster,
            ...(context === undefined ? {} : { context }),
          })
        : undefined,
    conditions: [
      { type: healthCondition, ...healthOf(source, { access, check }) },
      { type: "Joined", status: "True", reason: "Discovered", message: "" },
    ],
    kubernetes: source.kubernetes ?? asked ?? present?.status?.version?.kubernetes,
    properties: source.properties,
  };
}

function healthOf(source: Source, { access, check }: ClusterFacts): SourceHealth {
  const { health } = source;
  // A cluster that is being made has no kubeconfig yet: that it is not ready says more.
  if (health !== undefined && health.status !== "True") return health;
  if (access.kind === "refused" || access.kind === "missing") {
    const { namespace, name, key } = source.secret;
    const secret = describe({ kind: "Secret", namespace, name });
    const message = `The kubeconfig in ${secret}, key ${key}, ${access.why}`;
    const reason = access.kind === "refused" ? "KubeconfigRefused" : "KubeconfigMissing";
    return { status: "False", reason, message: shortMessage(message) };
  }
  return health ?? checkedHealth(check);
}

/** The health by a check of the API server. */
function checkedHealth(check: EndpointCheck | undefined): SourceHealth {
  if (check === undefined) return { status: "Unknown", reason: "NotChecked", message: "" };
  if (check.kind === "answers") return { status: "True", reason: "Ready", message: "" };
  return { status: "False", reason: check.reason, message: shortMessage(check.message) };
}

function shortMessage(text: string): string {
  return foreignText(text, longestMessage);
}

/**
 * The status of a profile whose source is gone: as it was, but not healthy. The five minutes count from the time of that condition, which is on the hub: so it has a time of its own, also where
 * the cluster had not been healthy for long.
 */
export function goneStatus(profile: ClusterProfile, now: Date): Manifest {
  const { status } = profile;
  const others = status?.conditions?.filter(
    ({ type, reason }) => type !== healthCondition || reason === "SourceGone",
  );
  const message =
    "Its source is gone; it is deleted 5 minutes later, unless a component uses it by then";
  const joined = conditionOf(status?.conditions, "Joined");
  const source = {
    ...statusSource(profile, status?.version?.kubernetes),
    access: status?.accessProviders?.find(({ name }) => name === provider),
    properties: propertiesOf(profile),
    conditions: [
      { type: healthCondition, status: "False", reason: "SourceGone", message },
      ...(joined === undefined ? [] : [joined]),
    ],
  } as const;
  const present =
    others === undefined ? profile : { ...profile, status: { ...status, conditions: others } };
  return profileStatusManifest(source, present, now);
}

/** When a profile without a source may be deleted, in ms since the epoch. Undefined: the profile does not say yet that its source is gone. */
export function deletableAt({ status }: ClusterProfile): number | undefined {
  const health = conditionOf(status?.conditions, healthCondition);
  if (health?.reason !== "SourceGone") return undefined;
  const since = Date.parse(health.lastTransitionTime ?? "");
  return Number.isNaN(since) ? undefined : since + graceMs;
}

/** The status of a profile that `register` made: health and version, and nothing else. */
export function registeredStatus(
  profile: ClusterProfile,
  check: EndpointCheck,
  now: Date,
): Manifest {
  const asked = check.kind === "answers" ? check.kubernetes : undefined;
  const source = {
    ...statusSource(profile, asked ?? profile.status?.version?.kubernetes),
    access: undefined,
    conditions: [{ type: healthCondition, ...checkedHealth(check) }],
  };
  return profileStatusManifest(source, profile, now);
}

function statusSource(
  { apiVersion, metadata: { namespace, name } }: ClusterProfile,
  kubernetes: string | undefined,
): Pick<ProfileStatusSource, "apiVersion" | "namespace" | "name" | "kubernetes"> {
  return { apiVersion, namespace, name, kubernetes };
}

/** The address that a profile of `register` offers. */
export function registeredCluster({ status }: ClusterProfile): AccessCluster | undefined {
  return status?.accessProviders?.[0]?.cluster ?? undefined;
}

/** What a profile says of the cluster at an address: that it answers. Undefined: nothing, something else, or of another address. */
export function toldCheck(
  profile: ClusterProfile | undefined,
  cluster: AccessCluster,
): EndpointCheck | undefined {
  const { conditions, accessProviders, version } = profile?.status ?? {};
  if (conditionOf(conditions, healthCondition)?.status !== "True") return undefined;
  const isSame = accessProviders?.some((one) => isSameJson(one.cluster, cluster)) === true;
  return isSame ? { kind: "answers", kubernetes: version?.kubernetes } : undefined;
}
