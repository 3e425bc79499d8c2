import { withTimeout } from "../../../../../access/time/deadline.ts";
import { systemClock } from "../../../../../access/time/system-clock.ts";
import {
  type ClusterProfile,
  clusterProfileApiVersion,
} from "../../../../../api/cluster-profile.ts";
import { FleetError } from "../../../../../api/errors.ts";
import type { KubeObject, NamespacedName } from "../../../../../api/kubernetes.ts";
import { knownResource } from "../../../../../api/resources.ts";
import { UsageError } from "../../../errors.ts";
import type { Fleet } from "../../../fleet/fleet.ts";
import { findProfile } from "../../../hub/profiles.ts";
import {
  hubAnnotation,
  idOf,
  profileAnnotation,
  registeredAnnotations,
  registrar,
  registrarSelector as labelSelector,
  spokeNamespace,
} from "../../../rights/spoke-objects.ts";
import type { ClusterAccess } from "../../../spokes/cluster-access.ts";
import { onSpoke, type OpenSpoke } from "../open-spoke.ts";
import { registerRequest, usualAccount } from "../register-request.ts";

/** The ClusterProfile of a registration. */
interface Registered {
  readonly profile: ClusterProfile;
  /** Why there is no such ClusterProfile on the hub: then `profile` only describes what a registration left. */
  readonly missing?: FleetError;
}

/**
 * Finds the ClusterProfile to unregister. With `context`, that of --from-context, also a registration that did not come to write it. `open` opens the cluster of a context;
 * undefined: it is to be left alone. Throws as `findProfile` does.
 */
export async function findRegistered(
  name: string,
  context: string | undefined,
  fleet: Fleet,
  open: (context: string) => Promise<OpenSpoke | undefined>,
): Promise<Registered> {
  const { flags, signal } = fleet;
  const access = await fleet.access();
  try {
    return { profile: await findProfile(name, { access, flags }, signal) };
  } catch (error) {
    const isMissing = error instanceof FleetError && error.reason === "ClusterProfileNotFound";
    if (!isMissing || context === undefined) throw error;
    await using spoke = await open(context);
    if (spoke === undefined) throw error;
    const { profile } = registerRequest([name], flags, {});
    return {
      profile: await lostProfile(profile, { access, spoke, missing: error }, signal),
      missing: error,
    };
  }
}

interface LostDeps {
  readonly access: ClusterAccess;
  readonly spoke: OpenSpoke;
  /** Says that there is no ClusterProfile. */
  readonly missing: FleetError;
}

const options = { metadataOnly: true };
const system = { resource: knownResource("v1", "Namespace"), name: "kube-system" };
const accounts = {
  resource: knownResource("v1", "ServiceAccount"),
  namespace: spokeNamespace,
  labelSelector,
};
const secrets = { resource: knownResource("v1", "Secret"), labelSelector };

/**
 * Describes a registration that ended before it wrote its ClusterProfile as that ClusterProfile would, from the marks on what it made on the hub and on the cluster.
 * Throws the errors of KubeClient, also for what may not be read.
 */
async function lostProfile(
  { namespace, name }: NamespacedName,
  { access, spoke, missing }: LostDeps,
  signal: AbortSignal,
): Promise<ClusterProfile> {
  const { client } = spoke.connection;
  const late = withTimeout(systemClock, spoke.timeoutMs, signal);
  const soon = withTimeout(systemClock, access.hubTimeoutMs, signal);
  const [there, onHub, hubSystem] = await Promise.all([
    onSpoke(
      spoke,
      Promise.all([
        client.get(system, options, late),
        client.list(accounts, options, late),
        client.get({ ...accounts, name: usualAccount }, options, late),
      ]),
    ),
    access.hub.list(secrets, options, soon),
    access.hub.get(system, options, soon),
  ]);
  const id = idOf({ namespace, name });
  const hubUid = hubSystem?.metadata.uid ?? "";
  const isMarked = ({ metadata: { annotations = {} } }: KubeObject): boolean =>
    annotations[profileAnnotation] === id;
  const [cluster, { items }, usual] = there;
  const ours = items.find(
    (one) => isMarked(one) && hubUid !== "" && one.metadata.annotations?.[hubAnnotation] === hubUid,
  );
  // Without a mark it may be that of somebody who made it by hand.
  if (ours === undefined && usual !== undefined) throw missing;
  const account = ours?.metadata.name ?? usualAccount;
  const noted = {
    [registeredAnnotations.context]: spoke.context,
    [registeredAnnotations.cluster]: cluster?.metadata.uid ?? "",
    [registeredAnnotations.account]: `${spokeNamespace}/${account}`,
    [registeredAnnotations.secret]: onlySecret(onHub.items.filter(isMarked), id),
  };
  return {
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    metadata: { namespace, name, uid: "", resourceVersion: "", annotations: noted },
    spec: { clusterManager: { name: registrar } },
  };
}

/** `namespace/name` of the Secret of a registration on the hub; empty without one. Throws UsageError when two say that they are: anybody can mark a Secret. */
function onlySecret(marked: readonly KubeObject[], id: string): string {
  const [first = "", second] = marked.map(({ metadata: { namespace = "", name } }) =>
    idOf({ namespace, name }),
  );
  if (second === undefined) return first;
  throw new UsageError(
    `Secrets ${first} and ${second} of the hub both say that they are for ClusterProfile ${id}`,
    ["Delete the one that register did not make."],
  );
}
