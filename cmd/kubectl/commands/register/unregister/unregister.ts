import { loadKubeconfig } from "../../../../../access/hub/kubeconfig.ts";
import type { KubeClient } from "../../../../../access/kube/kube-client.ts";
import { rightTexts } from "../../../../../access/kube/missing-right.ts";
import { withTimeout } from "../../../../../access/time/deadline.ts";
import { systemClock } from "../../../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../../../api/cluster-profile.ts";
import { allKinds, componentKeyOf } from "../../../../../api/component.ts";
import { targetId } from "../../../../../api/keys.ts";
import { describe, keyOf, type KubeObject } from "../../../../../api/kubernetes.ts";
import type { Fleet } from "../../../fleet/fleet.ts";
import { listInstallations } from "../../../hub/installations.ts";
import { hubSource } from "../../../hub/open-hub.ts";
import { onlyProfileName } from "../../../hub/profiles.ts";
import type { Answer } from "../../../main/report.ts";
import type { Talk } from "../../../main/talk.ts";
import { checkWriteFormat, isTable } from "../../../output/output-format.ts";
import { missingRights, rightsToDelete } from "../../../rights/missing-rights.ts";
import { idOf, spokeNamespace } from "../../../rights/spoke-objects.ts";
import type { ClusterAccess } from "../../../spokes/cluster-access.ts";
import { tellLeft } from "../left-objects.ts";
import { apiServiceCommand, othersIn, readContents, whyItStays } from "../namespace-contents.ts";
import { onSpoke, openSpoke, type OpenSpoke } from "../open-spoke.ts";
import type { Refusal } from "../reachable-server.ts";
import { lackOfRights } from "../refused-registration.ts";
import { refuse } from "../register.ts";
import { objectName, objectsTable, type ShownObject } from "../registration-text.ts";
import { removeRead } from "../write-object.ts";
import { findRegistered } from "./lost-registration.ts";
import { type HubFacts, readHubRemovals, readSpokeRemovals } from "./read-removals.ts";
import { refusedRemoval, registeredOf, type SpokeRemovals } from "./removal.ts";
import { selectingSets } from "./selecting-sets.ts";

interface Options {
  readonly fromContext?: string;
  readonly fromKubeconfig?: string;
  readonly keepSpoke: boolean;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** Takes a registration back, or shows what that would delete. Throws UsageError, and the errors of KubeClient. */
export async function unregisterCluster(
  fleet: Fleet,
  options: Options,
  talk: Talk,
): Promise<Answer> {
  const { args, env, flags, signal } = fleet;
  checkWriteFormat(flags);
  const name = onlyProfileName(args);
  const access = await fleet.access();
  const open = async (context: string): Promise<OpenSpoke | undefined> => {
    if (options.keepSpoke) return undefined;
    const next = [
      "Name the context of the cluster with --from-context, or leave the cluster alone with --keep-spoke.",
    ];
    return openSpoke(flags, { context, kubeconfig: options.fromKubeconfig, env, next });
  };
  const { profile, missing } = await findRegistered(name, options.fromContext, fleet, open);
  // A component of a wrong form may use the cluster: nothing is deleted then.
  const { malformed: _, ...strict } = access;
  const components = await listInstallations(strict, { kinds: allKinds, names: [] }, signal);
  const refusals = await refusalsOf(profile, { access, components }, signal);
  if (refusals.length > 0) return refuse(refusals);
  const context = options.fromContext ?? registeredOf(profile).context;
  await using spoke = await open(context);
  const [ofHub, there] = await Promise.all([
    readHubRemovals(profile, access, signal),
    spoke === undefined
      ? nothing
      : readSpokeRemovals(profile, { access, components, spoke }, signal),
  ]);
  if ("error" in there) return refuse([there]);
  const onHub = ofHub.filter((object) => missing === undefined || object !== profile);
  const lacks = await lacksOf({ there, onHub }, { access, spoke }, signal);
  if (!options.dryRun && lacks.length > 0) return refuse(lacks);
  const shown = [...objectsOf(there).map(shownOn("spoke")), ...onHub.map(shownOn("hub"))];
  if (missing !== undefined && shown.length === 0) throw missing;
  if (isTable(flags)) talk.show(objectsTable(shown));
  else talk.print(shown.map((object) => `${objectName(object)}\n`).join(""));
  const warn = (lines: readonly string[]) => talk.note(...lines.map((line) => `warning: ${line}`));
  warn([...there.warnings, ...lacks.map(({ error }) => error)]);
  if (options.dryRun) return {};
  await talk.ask(`Delete these ${shown.length} objects.`, options.yes);
  const places = { access, spoke, context, kubeconfig: options.fromKubeconfig };
  warn(await removeAll({ there, onHub }, places, fleet, talk));
  return { notes: [`ClusterProfile ${idOf(profile.metadata)} is no longer registered.`] };
}

/** The rights to delete that are missing, on the cluster and on the hub. */
async function lacksOf(
  { there, onHub }: Removals,
  { access, spoke }: Places,
  signal: AbortSignal,
): Promise<readonly Refusal[]> {
  const lackOn = (client: KubeClient, objects: readonly KubeObject[], timeoutMs: number) =>
    missingRights(
      rightsToDelete(objects.map(keyOf)),
      client,
      withTimeout(systemClock, timeoutMs, signal),
    );
  const [onSpokes, onHubs] = await Promise.all([
    spoke === undefined
      ? []
      : onSpoke(spoke, lackOn(spoke.connection.client, objectsOf(there), spoke.timeoutMs)),
    lackOn(access.hub, onHub, access.hubTimeoutMs),
  ]);
  return [
    ...lackOfRights("the cluster", rightTexts(onSpokes)),
    ...lackOfRights("the hub", rightTexts(onHubs)),
  ];
}

interface Removals {
  readonly there: SpokeRemovals;
  readonly onHub: readonly KubeObject[];
}

interface Places {
  readonly access: ClusterAccess;
  readonly spoke: OpenSpoke | undefined;
}

/** Deletes on the cluster and then on the hub. When it fails, it says what is still there. Returns what stays, and why. */
async function removeAll(
  { there, onHub }: Removals,
  /** `context`, `kubeconfig`: those of the cluster. */
  places: Places & { readonly context: string; readonly kubeconfig: string | undefined },
  { env, flags, signal }: Fleet,
  talk: Talk,
): Promise<readonly string[]> {
  const { access, spoke, context } = places;
  const left = { spoke: new Set(objectsOf(there)), hub: new Set(onHub) };
  try {
    const removals = { ...there, left: left.spoke };
    const stays = spoke === undefined ? [] : await removeOnSpoke(removals, spoke, signal);
    left.spoke.clear();
    const target = { client: access.hub, timeoutMs: access.hubTimeoutMs, signal };
    const held = await removeRead(onHub, target, (object) => left.hub.delete(object));
    return [...stays, ...held.map((object) => heldText(object, "the hub"))];
  } catch (error) {
    const { kubeconfig } = flags.hub;
    const ways = {
      hub: { context: loadKubeconfig(hubSource(flags, env)).context, kubeconfig },
      spoke: { context, kubeconfig: places.kubeconfig ?? kubeconfig },
    };
    tellLeft({ spoke: [...left.spoke], hub: [...left.hub] }, keptText, ways, talk);
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

/** Deletes objects, and then the namespace when nothing has come into it since it was read. Returns what stays, or stays for a while, and why. */
async function removeOnSpoke(
  { objects, namespace, left }: SpokeRemovals & { readonly left: Set<KubeObject> },
  spoke: OpenSpoke,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const target = { client: spoke.connection.client, timeoutMs: spoke.timeoutMs, signal };
  const rest = await onSpoke(
    spoke,
    removeRead(objects, target, (object) => left.delete(object)),
  );
  const held = rest.map((object) => heldText(object, "the cluster"));
  if (namespace === undefined) return held;
  const contents = await onSpoke(spoke, readContents(spokeNamespace, target));
  const stays = whyItStays(spokeNamespace, othersIn(contents, objects));
  if (stays !== undefined) return [...held, stays];
  await onSpoke(spoke, removeRead([namespace], target));
  const silent = contents.silentViews.map(
    (view) =>
      `Kubernetes deletes namespace ${spokeNamespace} of the cluster when ${view} answers again; to see why it does not: ${apiServiceCommand(view)}`,
  );
  return [...held, ...silent];
}

/** Names an object that was deleted and is still there. */
function heldText({ kind, metadata }: KubeObject, place: string): string {
  const { namespace = "", name, finalizers = [] } = metadata;
  const id = describe({ kind, namespace, name });
  return `${id} of ${place} is deleted when its finalizers are gone: ${finalizers.join(", ")}`;
}

function shownOn(cluster: ShownObject["cluster"]): (manifest: KubeObject) => ShownObject {
  return (manifest) => ({ cluster, manifest, about: "is deleted" });
}

async function refusalsOf(
  profile: ClusterProfile,
  { access, components }: HubFacts,
  signal: AbortSignal,
): Promise<readonly Refusal[]> {
  const users = components
    .filter((component) => targetId(component) === idOf(profile.metadata))
    .map(componentKeyOf);
  const kinds = users.map(({ kind }) => kind);
  const selecting = await selectingSets(profile, { access, kinds }, signal);
  return refusedRemoval(profile, { users, ...selecting });
}
