import { type KubeClient, objectRefOf } from "../../../../../access/kube/kube-client.ts";
import { rightTexts } from "../../../../../access/kube/missing-right.ts";
import { withTimeout } from "../../../../../access/time/deadline.ts";
import { systemClock } from "../../../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../../../api/cluster-profile.ts";
import type { Component } from "../../../../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../../../../api/kubernetes.ts";
import { knownResource } from "../../../../../api/resources.ts";
import { listAnchors } from "../../../../../controller/apply/anchor/list-anchors.ts";
import { spokeRoleName } from "../../../../../installation/spoke-role.ts";
import { listVisible } from "../../../hub/list-visible.ts";
import { listProfiles } from "../../../hub/profiles.ts";
import { NeededReads } from "../../../rights/missing-rights.ts";
import { idOf, spokeNamespace } from "../../../rights/spoke-objects.ts";
import type { ClusterAccess } from "../../../spokes/cluster-access.ts";
import { listsProfiles, otherProfiles, serversOf, unknownProfiles } from "../known-cluster.ts";
import { readContents } from "../namespace-contents.ts";
import { onSpoke, type OpenSpoke } from "../open-spoke.ts";
import type { Refusal } from "../reachable-server.ts";
import { lackOfRights } from "../refused-registration.ts";
import {
  hubRemovals,
  registeredOf,
  type RemovalFacts,
  spokeRemovals,
  type SpokeRemovals,
} from "./removal.ts";

/** The hub of a registration. */
export interface HubFacts {
  readonly access: ClusterAccess;
  /** All components of the hub. */
  readonly components: readonly Component[];
}

/** Reads what `unregister` deletes on the hub. Throws the errors of KubeClient. */
export async function readHubRemovals(
  profile: ClusterProfile,
  { hub, hubTimeoutMs }: ClusterAccess,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const [namespace = "", name = ""] = registeredOf(profile).secret.split("/");
  const ref = { resource: knownResource("v1", "Secret"), namespace, name };
  const found =
    name === ""
      ? undefined
      : await hub.get(ref, { metadataOnly: true }, withTimeout(systemClock, hubTimeoutMs, signal));
  return hubRemovals(profile, found === undefined ? undefined : kindOf(found, "v1", "Secret"));
}

/** Metadata of an object has another kind. */
function kindOf(object: KubeObject, apiVersion: string, kind: string): KubeObject {
  return { ...object, apiVersion, kind };
}

const rbac = "rbac.authorization.k8s.io/v1";

interface SpokeRemoval {
  readonly access: ClusterAccess;
  readonly spoke: OpenSpoke;
}

/** Reads what `unregister` deletes on the cluster, or why it does not. Throws the errors of KubeClient. */
export async function readSpokeRemovals(
  profile: ClusterProfile,
  { access, components, spoke }: SpokeRemoval & HubFacts,
  signal: AbortSignal,
): Promise<SpokeRemovals | Refusal> {
  const { account } = registeredOf(profile);
  if (account === "") {
    return {
      error: `ClusterProfile ${idOf(profile.metadata)} does not say which account register made`,
      next: ["Leave the cluster alone with --keep-spoke."],
    };
  }
  const { client } = spoke.connection;
  const late = withTimeout(systemClock, spoke.timeoutMs, signal);
  const reads = new NeededReads(access.hub);
  const read = reader(client, late);
  const work = Promise.all([
    read({ apiVersion: "v1", kind: "Namespace", name: "kube-system" }),
    read({ apiVersion: "v1", kind: "ServiceAccount", namespace: spokeNamespace, name: account }),
    read({ apiVersion: rbac, kind: "ClusterRoleBinding", name: account }),
    read({ apiVersion: rbac, kind: "ClusterRole", name: spokeRoleName }),
    read({ apiVersion: "v1", kind: "Namespace", name: spokeNamespace }),
    listBindings(client, late),
    readContents(spokeNamespace, { client, timeoutMs: spoke.timeoutMs, signal }),
  ]);
  const [hubSystem, [system, found, binding, role, namespace, bindings, contents]] =
    await Promise.all([
      reads.namespace("kube-system", withTimeout(systemClock, access.hubTimeoutMs, signal)),
      onSpoke(spoke, work),
    ]);
  const [lack] = lackOfRights("the hub", rightTexts(reads.denied));
  if (lack !== undefined) return lack;
  const facts: RemovalFacts = {
    context: spoke.context,
    uid: system?.metadata.uid ?? "",
    hubUid: hubSystem?.metadata.uid ?? "",
    account: found,
    binding,
    role,
    bindings,
    namespace,
    contents,
  };
  const removals = spokeRemovals(profile, facts);
  if ("error" in removals) return removals;
  const warnings = await warningsOf(profile, { access, components, spoke }, signal);
  return { ...removals, warnings: [...removals.warnings, ...warnings] };
}

/** All ClusterRoleBindings and RoleBindings of a cluster. */
async function listBindings(
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  const lists = ["ClusterRoleBinding", "RoleBinding"].map(async (kind) => {
    const { items } = await client.list({ resource: knownResource(rbac, kind) }, {}, signal);
    return items.map((item) => kindOf(item, rbac, kind));
  });
  return (await Promise.all(lists)).flat();
}

function reader(client: KubeClient, signal: AbortSignal) {
  return async (key: ObjectKey): Promise<KubeObject | undefined> => {
    const { apiVersion, kind } = key;
    const ref = objectRefOf(key, knownResource(apiVersion, kind));
    const found = await client.get(ref, { metadataOnly: true }, signal);
    return found === undefined ? undefined : kindOf(found, apiVersion, kind);
  };
}

/** Names the other ClusterProfiles of a cluster, which may use the account that is deleted. */
async function warningsOf(
  profile: ClusterProfile,
  { access, components, spoke }: SpokeRemoval & HubFacts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { account, clusterUid: uid } = registeredOf(profile);
  const { client } = spoke.connection;
  const [profiles, anchors] = await Promise.all([
    listVisible(
      listProfiles(access.hub, undefined, withTimeout(systemClock, access.hubTimeoutMs, signal)),
      listsProfiles,
    ),
    onSpoke(spoke, listAnchors(client, withTimeout(systemClock, spoke.timeoutMs, signal))),
  ]);
  const traits = { uid, servers: serversOf(profile), anchors: anchors ?? [] };
  const known = { profiles: profiles.items, components };
  return [
    ...otherProfiles(profile.metadata, known, traits).map(
      (id) =>
        `ClusterProfile ${id} leads to the same cluster, and loses it if it uses ServiceAccount ${spokeNamespace}/${account}`,
    ),
    ...unknownProfiles({ hub: profiles.denied, anchors }),
  ];
}
