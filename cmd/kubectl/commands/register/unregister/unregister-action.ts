import { loadKubeconfig } from "../../../../../access/hub/kubeconfig.ts";
import type { KubeClient } from "../../../../../access/kube/kube-client.ts";
import { rightTexts } from "../../../../../access/kube/missing-right.ts";
import { withTimeout } from "../../../../../access/time/deadline.ts";
import { systemClock } from "../../../../../access/time/system-clock.ts";
import type { ClusterProfile } from "../../../../../api/cluster-profile.ts";
import { allKinds, componentKeyOf } from "../../../../../api/component.ts";
import { targetId } from "../../../../../api/keys.ts";
import { describe, keyOf, type KubeObject } from "../../../../../api/kubernetes.ts";
import { type ActionInput, tableText } from "../../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../../errors.ts";
import { listInstallations } from "../../../hub/installations.ts";
import { hubSource } from "../../../hub/open-hub.ts";
import { profileHint } from "../../../hub/profiles.ts";
import { checkWriteFormat, isTable } from "../../../output/output-format.ts";
import { askForAgreement } from "../../../output/terminal.ts";
import type { ClusterAccess } from "../../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../../spokes/open-cluster-access.ts";
import { writeLeft } from "../left-objects.ts";
import { missingRights, rightsToDelete } from "../missing-rights.ts";
import { apiServiceCommand, othersIn, readContents, whyItStays } from "../namespace-contents.ts";
import { onSpoke, openSpoke, type OpenSpoke } from "../open-spoke.ts";
import type { Refusal } from "../reachable-server.ts";
import { lackOfRights } from "../refused-registration.ts";
import { refuse, writeWarnings } from "../register-action.ts";
import { objectName, objectsTable, type ShownObject } from "../registration-text.ts";
import { idOf, spokeNamespace } from "../spoke-objects.ts";
import { removeRead } from "../write-object.ts";
import { findRegistered } from "./lost-registration.ts";
import { type HubFacts, readHubRemovals, readSpokeRemovals } from "./read-removals.ts";
import { refusedRemoval, registeredOf, type SpokeRemovals } from "./removal.ts";
import { selectingSets } from "./selecting-sets.ts";

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
  const name = nameIn(args);
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: false }, signal);
  const open = (opened: string) => openSpokeOf(opened, input);
  const { profile, missing } = await findRegistered(name, { access, input, open }, signal);
  // A component of a wrong form may use the cluster: nothing is deleted then.
  const { malformed: _, ...strict } = access;
  const components = await listInstallations(strict, { kinds: allKinds, names: [] }, signal);
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
  const lacks = await lacksOf({ there, onHub }, { access, spoke }, signal);
  const isDryRun = options.dryRun === true;
  if (!isDryRun && lacks.length > 0) return refuse(lacks, input);
  const shown = [...objectsOf(there).map(shownOn("spoke")), ...onHub.map(shownOn("hub"))];
  if (missing !== undefined && shown.length === 0) throw missing;
  show(shown, [...there.warnings, ...lacks.map(({ why }) => why)], input);
  if (isDryRun) return exitCodes.fine;
  const agreement = { yes: options.yes === true, input: flags.input };
  await askForAgreement(`Delete these ${shown.length} objects.`, agreement, terminal);
  const stays = await removeAll({ there, onHub }, { access, spoke, context, input }, signal);
  if (!flags.quiet) {
    writeWarnings(stays, terminal);
    terminal.stderr.write(`ClusterProfile ${idOf(profile.metadata)} is no longer registered.\n`);
  }
  return exitCodes.fine;
}

function nameIn([name, ...others]: readonly string[]): string {
  if (name !== undefined && others.length === 0) return name;
  throw new UsageError("Name one ClusterProfile", profileHint);
}

/** The rights to delete that are missing, on the cluster and on the hub. */
async function lacksOf(
  { there, onHub }: Removals,
  { access, spoke }: Pick<Places, "access" | "spoke">,
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

/** Deletes on the cluster and then on the hub. When it fails, it says what is still there. Returns what stays, and why. */
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
    const held = await removeRead(onHub, target, (object) => left.hub.delete(object));
    return [...stays, ...held.map((object) => heldText(object, "the hub"))];
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
