import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { type ClusterProfile, clusterProfileApiVersion } from "../../../../api/cluster-profile.ts";
import { FleetError } from "../../../../api/errors.ts";
import type { KubeObject, NamespacedName } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import type { ActionInput } from "../../action.ts";
import { findProfile } from "../../hub/profiles.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { onSpoke, type OpenSpoke } from "./open-spoke.ts";
import { registerRequest, usualAccount } from "./register-request.ts";
import {
  idOf,
  profileAnnotation,
  registeredAnnotations,
  registrar,
  registrarSelector as labelSelector,
  spokeNamespace,
} from "./spoke-objects.ts";

/** The ClusterProfile of a registration. */
interface Registered {
  readonly profile: ClusterProfile;
  /** Why there is no such ClusterProfile on the hub: then `profile` only describes what a registration left. */
  readonly missing?: FleetError;
}

interface Question {
  readonly access: ClusterAccess;
  readonly input: ActionInput<{ readonly fromContext?: string }>;
  /** Opens the cluster of a context; undefined: it is to be left alone. */
  readonly open: (context: string) => Promise<OpenSpoke | undefined>;
}

/** Finds the ClusterProfile to unregister; with --from-context also a registration that did not come to write it. Throws as `findProfile` does. */
export async function findRegistered(
  name: string,
  { access, input: { flags, options }, open }: Question,
  signal: AbortSignal,
): Promise<Registered> {
  try {
    return { profile: await findProfile(name, { access, flags }, signal) };
  } catch (error) {
    const isMissing = error instanceof FleetError && error.reason === "ClusterProfileNotFound";
    if (!isMissing || options.fromContext === undefined) throw error;
    await using spoke = await open(options.fromContext);
    if (spoke === undefined) throw error;
    const { profile } = registerRequest([name], flags, {});
    return { profile: await lostProfile(profile, { access, spoke }, signal), missing: error };
  }
}

/**
 * Describes a registration that ended before it wrote its ClusterProfile as that ClusterProfile would, from the marks on what it made on the hub and on the cluster.
 * Throws the errors of KubeClient, also for what may not be read.
 */
async function lostProfile(
  { namespace, name }: NamespacedName,
  { access, spoke }: { readonly access: ClusterAccess; readonly spoke: OpenSpoke },
  signal: AbortSignal,
): Promise<ClusterProfile> {
  const { client } = spoke.connection;
  const late = withTimeout(systemClock, spoke.timeoutMs, signal);
  const options = { metadataOnly: true };
  const system = { resource: knownResource("v1", "Namespace"), name: "kube-system" };
  const accounts = {
    resource: knownResource("v1", "ServiceAccount"),
    namespace: spokeNamespace,
    labelSelector,
  };
  const secrets = { resource: knownResource("v1", "Secret"), labelSelector };
  const [there, onHub] = await Promise.all([
    onSpoke(
      spoke,
      Promise.all([client.get(system, options, late), client.list(accounts, options, late)]),
    ),
    access.hub.list(secrets, options, withTimeout(systemClock, access.hubTimeoutMs, signal)),
  ]);
  const id = idOf({ namespace, name });
  const isMarked = ({ metadata }: KubeObject): boolean =>
    metadata.annotations?.[profileAnnotation] === id;
  const [cluster, { items }] = there;
  const account = items.find(isMarked)?.metadata.name ?? usualAccount;
  const secret = onHub.items.find(isMarked)?.metadata;
  const noted = {
    [registeredAnnotations.context]: spoke.context,
    [registeredAnnotations.cluster]: cluster?.metadata.uid ?? "",
    [registeredAnnotations.account]: `${spokeNamespace}/${account}`,
    [registeredAnnotations.secret]:
      secret === undefined ? "" : idOf({ namespace: secret.namespace ?? "", name: secret.name }),
  };
  return {
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    metadata: { namespace, name, uid: "", resourceVersion: "", annotations: noted },
    spec: { clusterManager: { name: registrar } },
  };
}
