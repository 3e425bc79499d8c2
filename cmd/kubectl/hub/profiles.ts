import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { missingRightIn } from "../../../access/kube/missing-right.ts";
import { getProfile, ServedKind } from "../../../access/kube/profile-versions.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
  globMatches,
  isClusterProfile,
  propertiesOf,
} from "../../../api/cluster-profile.ts";
import type { ClusterProfileRef, Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { byText } from "../../../api/fields.ts";
import { describe, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { UsageError } from "../errors.ts";
import { namedNamespace } from "../selection/hub-namespace.ts";
import { labelMatcher } from "../selection/label-selector.ts";
import type { Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";

/** Reads one ClusterProfile of the hub. Throws FleetError `ClusterProfileNotFound` or `ClusterProfileUnavailable`. */
export async function readProfile(
  ref: ClusterProfileRef,
  hub: Pick<KubeClient, "get">,
  signal: AbortSignal,
): Promise<ClusterProfile> {
  const title = describe({ kind: "ClusterProfile", ...ref });
  const found = await getProfile(hub, ref, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    const right = cause instanceof ApiError ? missingRightIn(cause.message) : undefined;
    const why = right === undefined ? "" : `: ${right} is missing`;
    throw new FleetError("ClusterProfileUnavailable", `${title} could not be read${why}`, {
      cause,
    });
  });
  if (found === undefined) {
    throw new FleetError("ClusterProfileNotFound", `${title} does not exist`);
  }
  if (!isClusterProfile(found)) {
    throw new FleetError("ClusterProfileUnavailable", `${title} is no ClusterProfile`);
  }
  return found;
}

interface ProfileRequest {
  readonly access: Pick<ClusterAccess, "hub" | "hubTimeoutMs">;
  readonly flags: Readonly<Record<"cluster" | "on", string | undefined>> & {
    /** As in `Flags`. Undefined: all namespaces. Null: the namespace of the context. */
    readonly namespace: string | null | undefined;
  };
}

/**
 * Finds the ClusterProfile of an argument: `NAMESPACE/NAME`, or `NAME` in the namespace of `-n` or else in any namespace. `cp/` may precede it. Throws
 * UsageError for a name that several namespaces have, FleetError as `readProfile` does, and the errors of KubeClient.
 */
export async function findProfile(
  arg: string,
  { access, flags }: ProfileRequest,
  signal: AbortSignal,
): Promise<ClusterProfile> {
  const deadline = withTimeout(systemClock, access.hubTimeoutMs, signal);
  const { namespace, name } = partsOf(arg);
  const stated = namespace ?? namedNamespace(flags);
  if (stated !== undefined) {
    const ref = { namespace: stated, name };
    return await readProfile(ref, access.hub, deadline).catch((error: unknown) => {
      // Then the hub is to blame, and no ClusterProfile.
      throw error instanceof FleetError && error.cause instanceof ConnectionError
        ? error.cause
        : error;
    });
  }
  const found = await findProfileAnywhere(name, access.hub, deadline);
  if (found !== undefined) return found;
  const message = `ClusterProfile ${JSON.stringify(name)} does not exist in any namespace`;
  throw new FleetError("ClusterProfileNotFound", message);
}

/** What to do when a command line names no ClusterProfile. */
export const profileHint: readonly string[] = [
  "Write NAMESPACE/NAME of a ClusterProfile. This lists them:",
  "kubectl get clusterprofiles.multicluster.x-k8s.io -A",
];

/** The ClusterProfile of a command that takes exactly one. Throws UsageError. */
export function onlyProfileName([name, ...others]: readonly string[]): string {
  if (name !== undefined && others.length === 0) return name;
  throw new UsageError("Name one ClusterProfile", profileHint);
}

/** Finds the only ClusterProfile of a name in all namespaces. Throws UsageError for a name that several namespaces have, and the errors of KubeClient. */
export async function findProfileAnywhere(
  name: string,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<ClusterProfile | undefined> {
  const all = await listProfiles(hub, undefined, signal);
  const [found, ...more] = all.filter(({ metadata }) => metadata.name === name);
  if (found === undefined || more.length === 0) return found;
  const names = [found, ...more].map(profileId);
  throw new UsageError(`Several ClusterProfiles are named "${name}": ${names.join(", ")}`, [
    "Write NAMESPACE/NAME, or choose the namespace with -n.",
  ]);
}

/** Lists the ClusterProfiles that `-n`, `--cluster` and `--on` select, sorted. Without `-n`: of all namespaces. Throws the errors of KubeClient. */
export async function listSelectedProfiles(
  { access, flags }: ProfileRequest,
  signal: AbortSignal,
): Promise<readonly ClusterProfile[]> {
  const deadline = withTimeout(systemClock, access.hubTimeoutMs, signal);
  const all = await listProfiles(access.hub, namedNamespace(flags), deadline);
  return all.filter((profile) => isSelectedProfile(profile, flags)).toSorted(byText(profileId));
}

/** `namespace/name` of a profile, which is the name of its cluster everywhere. */
export function profileId({ metadata }: ClusterProfile): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Lists the ClusterProfiles of a namespace; undefined: of all. Throws the errors of KubeClient. */
export async function listProfiles(
  hub: ClusterAccess["hub"],
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly ClusterProfile[]> {
  const resource = knownResource(clusterProfileApiVersion, "ClusterProfile");
  const scope = namespace === undefined ? {} : { namespace };
  const { items } = await new ServedKind(hub).list({ resource, ...scope }, {}, signal);
  // Items of a list carry neither apiVersion nor kind.
  return items
    .map((item) => ({ ...item, apiVersion: clusterProfileApiVersion, kind: "ClusterProfile" }))
    .filter(isClusterProfile);
}

/** A valid name of Kubernetes, which is safe in a path, a file name and a prompt. */
const namePattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

function partsOf(arg: string): { readonly namespace?: string; readonly name: string } {
  const parts = arg.split("/");
  const isTyped = /^(?:cp|clusterprofiles?(?:\.multicluster\.x-k8s\.io)?)$/i.test(parts[0] ?? "");
  const [first = "", second, ...more] = isTyped && parts.length > 1 ? parts.slice(1) : parts;
  const all = second === undefined ? [first] : [first, second];
  if (more.length > 0 || !all.every((part) => namePattern.test(part))) {
    throw new UsageError(`"${arg}" names no ClusterProfile: write NAMESPACE/NAME or NAME`);
  }
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/** Filters components by the clusters of `--cluster` and `--on`. Lists the ClusterProfiles of the hub only with `--on`. */
export async function onSelectedClusters(
  components: readonly Component[],
  {
    access,
    selection,
  }: { readonly access: Pick<ClusterAccess, "hub">; readonly selection: Selection },
  signal: AbortSignal,
): Promise<readonly Component[]> {
  const { cluster, on } = selection;
  const named = components.filter(({ spec }) => isNamed(spec?.clusterProfileRef, cluster));
  if (on === undefined) return named;
  const matches = labelMatcher(on, "--on");
  const { items } = await new ServedKind(access.hub).list(
    { resource: knownResource(clusterProfileApiVersion, "ClusterProfile") },
    {},
    signal,
  );
  const chosen = new Set(items.filter((profile) => matches(traitsOf(profile))).map(idOf));
  return named.filter(({ spec }) => {
    const ref = spec?.clusterProfileRef;
    return ref !== undefined && chosen.has(`${ref.namespace}/${ref.name}`);
  });
}

/** Whether `--cluster` and `--on` select a profile. Throws UsageError. */
export function isSelectedProfile(
  profile: KubeObject,
  { cluster, on }: Pick<Selection, "cluster" | "on">,
): boolean {
  const { namespace = "", name } = profile.metadata;
  if (!isNamed({ namespace, name }, cluster)) return false;
  return on === undefined || labelMatcher(on, "--on")(traitsOf(profile));
}

/** Whether a glob matches a cluster, with or without its namespace. The hub is `<hub>` or `hub`. */
function isNamed(ref: ClusterProfileRef | undefined, glob: string | undefined): boolean {
  if (glob === undefined) return true;
  if (ref === undefined) return glob === "<hub>" || glob === "hub";
  return globMatches(glob, glob.includes("/") ? `${ref.namespace}/${ref.name}` : ref.name);
}

/** The labels of a profile, overridden by the properties of its status. */
export function traitsOf(profile: KubeObject): Readonly<Record<string, string>> {
  return { ...profile.metadata.labels, ...propertiesOf(profile) };
}

function idOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
