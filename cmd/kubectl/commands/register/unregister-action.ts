import { loadKubeconfig } from "../../../../access/hub/kubeconfig.ts";
import { unlessDenied } from "../../../../access/kube/api-error.ts";
import { type KubeClient, objectRefOf } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import { allKinds, type Component, componentKeyOf } from "../../../../api/component.ts";
import type { KubeObject, ObjectKey } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { listAnchors } from "../../../../controller/apply/anchor/list-anchors.ts";
import { targetIdOf } from "../../../../controller/component-identity.ts";
import { spokeRoleName } from "../../../../installation/spoke-role.ts";
import { type ActionInput, tableText } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import { listInstallations } from "../../hub/installations.ts";
import { hubSource } from "../../hub/open-hub.ts";
import { listProfiles, profileHint } from "../../hub/profiles.ts";
import { checkWriteFormat, isTable } from "../../output/output-format.ts";
import { askForAgreement } from "../../output/terminal.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { otherProfiles, serversOf } from "./known-cluster.ts";
import { writeLeft } from "./left-objects.ts";
import { findRegistered } from "./lost-registration.ts";
import { NeededReads, rightTexts } from "./missing-rights.ts";
import { apiServiceCommand, othersIn, readContents, whyItStays } from "./namespace-contents.ts";
import { onSpoke, openSpoke, type OpenSpoke } from "./open-spoke.ts";
import type { Refusal } from "./reachable-server.ts";
import { lackOfRights } from "./refused-registration.ts";
import { refuse, writeWarnings } from "./register-action.ts";
import { objectName, objectsTable, type ShownObject } from "./registration-text.ts";
import {
  hubRemovals,
  refusedRemoval,
  registeredOf,
  type RemovalFacts,
  spokeRemovals,
  type SpokeRemovals,
} from "./removal.ts";
import { selectingSets } from "./selecting-sets.ts";
import { idOf, spokeNamespace } from "./spoke-objects.ts";
import { removeRead } from "./write-object.ts";

/** Flags of `unregister` alone. */
interface UnregisterFlags {
  readonly fromContext?: string;
  readonly fromKubeconfig?: string;
  readonly keepSpoke?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

type Input = ActionInput<UnregisterFlags>;

/** `kubectl knfleet unregister`. */
export async function runUnregister(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { args, flags, options, terminal } = input;
  checkWriteFormat(flags);
  const [name, ...others] = args;
  if (name === undefined || others.length > 0) {
    throw new UsageError("Name one ClusterProfile", profileHint);
  }
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: false }, signal);
  const open = (opened: string) => openSpokeOf(opened, input);
  const { profile, missing } = await findRegistered(name, { access, input, open }, signal);
  const components = await listInstallations(access, { kinds: allKinds, names: [] }, signal);
  const refusals = await refusalsOf(profile, { access, components }, signal);
  if (refusals.length > 0) return refuse(refusals, input);
  const context = options.fromContext ?? registeredOf(profile).context;
  await using spoke = await openSpokeOf(context, input);
  const [ofHub, there] = await Promise.all([
    readHubRemovals(profile, access, signal),
    spoke === undefined
      ? nothing
      : readSpokeRemovals(profile, { access, components, spoke }, signal),
  ]);
  if ("why" in there) return refuse([there], input);
  const onHub = ofHub.filter((object) => missing === undefined || object !== profile);
  const shown = [...objectsOf(there).map(shownOn("spoke")), ...onHub.map(shownOn("hub"))];
  if (missing !== undefined && shown.length === 0) throw missing;
  show(shown, there.warnings, input);
  if (options.dryRun === true) return exitCodes.fine;
  const agreement = { yes: options.yes === true, input: flags.input };
  await askForAgreement(`Delete these ${shown.length} objects.`, agreement, terminal);
  const stays = await removeAll({ there, onHub }, { access, spoke, context, input }, signal);
  if (!flags.quiet) {
    writeWarnings(stays, terminal);
    terminal.stderr.write(`ClusterProfile ${idOf(profile.metadata)} is no longer registered.\n`);
  }
  return exitCodes.fine;
}

function show(
  objects: readonly ShownObject[],
  warnings: readonly string[],
  { flags, terminal }: Input,
): void {
  if (!isTable(flags)) {
    terminal.stdout.write(objects.map((object) => `${objectName(object)}\n`).join(""));
  } else terminal.stdout.write(tableText(objectsTable(objects), flags, terminal));
  if (!flags.quiet) writeWarnings(warnings, terminal);
}

interface Removals {
  readonly there: SpokeRemovals;
  readonly onHub: readonly KubeObject[];
}

interface Places {
  readonly access: ClusterAccess;
  readonly spoke: OpenSpoke | undefined;
  /** Kubeconfig context of the spoke. */
  readonly context: string;
  readonly input: Input;
}

/** Deletes on the cluster and then on the hub. When it fails, it says what is still there. Returns why the namespace stays. */
async function removeAll(
  { there, onHub }: Removals,
  { access, spoke, context, input }: Places,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const left = { spoke: new Set(objectsOf(there)), hub: new Set(onHub) };
  try {
    const removals = { ...there, left: left.spoke };
    const stays = spoke === undefined ? [] : await removeOnSpoke(removals, spoke, signal);
    left.spoke.clear();
    const target = { client: access.hub, timeoutMs: access.hubTimeoutMs, signal };
    await removeRead(onHub, target, (object) => left.hub.delete(object));
    return stays;
  } catch (error) {
    const source = hubSource(input.flags, input.terminal.env);
    const contexts = { hub: loadKubeconfig(source).context, spoke: context };
    const kept = { spoke: [...left.spoke], hub: [...left.hub] };
    writeLeft(kept, { contexts, titleOf: keptText }, input);
    throw error;
  }
}

function keptText(place: string): string {
  return `Not deleted on ${place}; the same command goes on with it. By hand:`;
}

function objectsOf({ objects, namespace }: SpokeRemovals): readonly KubeObject[] {
  return namespace === undefined ? objects : [...objects, namespace];
}

const nothing: SpokeRemovals = { objects: [], namespace: undefined, warnings: [] };

/** Deletes objects, and then the namespace when nothing has come into it since it was read. Returns why the namespace stays, or stays for a while. */
async function removeOnSpoke(
  { objects, namespace, left }: SpokeRemovals & { readonly left: Set<KubeObject> },
  spoke: OpenSpoke,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const target = { client: spoke.connection.client, timeoutMs: spoke.timeoutMs, signal };
  await onSpoke(
    spoke,
    removeRead(objects, target, (object) => left.delete(object)),
  );
  if (namespace === undefined) return [];
  const contents = await onSpoke(spoke, readContents(spokeNamespace, target));
  const stays = whyItStays(spokeNamespace, othersIn(contents, objects));
  if (stays !== undefined) return [stays];
  await onSpoke(spoke, removeRead([namespace], target));
  return contents.silentViews.map(
    (view) =>
      `Kubernetes deletes namespace ${spokeNamespace} of the cluster when ${view} answers again; to see why it does not: ${apiServiceCommand(view)}`,
  );
}

function shownOn(cluster: ShownObject["cluster"]): (manifest: KubeObject) => ShownObject {
  return (manifest) => ({ cluster, manifest, about: "is deleted" });
}

interface HubFacts {
  readonly access: ClusterAccess;
  /** All components of the hub. */
  readonly components: readonly Component[];
}

async function refusalsOf(
  profile: ClusterProfile,
  { access, components }: HubFacts,
  signal: AbortSignal,
): Promise<readonly Refusal[]> {
  const users = components
    .filter((component) => targetIdOf(component) === idOf(profile.metadata))
    .map(componentKeyOf);
  const kinds = users.map(({ kind }) => kind);
  const sets = kinds.length === 0 ? [] : await selectingSets(profile, { access, kinds }, signal);
  return refusedRemoval(profile, { users, sets });
}

/** Names the other ClusterProfiles of a cluster, which may use the account that is deleted. */
async function warningsOf(
  profile: ClusterProfile,
  { access, components, spoke }: SpokeRemoval & HubFacts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { account, clusterUid: uid } = registeredOf(profile);
  const { client } = spoke.connection;
  const [profiles = [], anchors = []] = await Promise.all([
    unlessDenied(
      listProfiles(access.hub, undefined, withTimeout(systemClock, access.hubTimeoutMs, signal)),
    ),
    onSpoke(spoke, listAnchors(client, withTimeout(systemClock, spoke.timeoutMs, signal))),
  ]);
  const traits = { uid, servers: serversOf(profile), anchors };
  return otherProfiles(profile.metadata, { profiles, components }, traits).map(
    (id) =>
      `ClusterProfile ${id} leads to the same cluster, and loses it if it uses ServiceAccount ${spokeNamespace}/${account}`,
  );
}

async function openSpokeOf(
  context: string,
  { flags, options, terminal: { env } }: Input,
): Promise<OpenSpoke | undefined> {
  if (options.keepSpoke === true) return undefined;
  return openSpoke(flags, {
    context,
    kubeconfig: options.fromKubeconfig,
    env,
    next: [
      "Name the context of the cluster with --from-context, or leave the cluster alone with --keep-spoke.",
    ],
  });
}

async function readHubRemovals(
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

async function readSpokeRemovals(
  profile: ClusterProfile,
  { access, components, spoke }: SpokeRemoval & HubFacts,
  signal: AbortSignal,
): Promise<SpokeRemovals | Refusal> {
  const { account } = registeredOf(profile);
  if (account === "") {
    return {
      why: `ClusterProfile ${idOf(profile.metadata)} does not say which account register made`,
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
  if ("why" in removals) return removals;
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
