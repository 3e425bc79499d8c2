import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { getProfile } from "../../../../access/kube/profile-versions.ts";
import { type ComponentKey, componentKeyOf } from "../../../../api/component.ts";
import { type ActionInput, selectionOf } from "../../action.ts";
import type { Flags } from "../../flags.ts";
import { inTrouble, listInstallations } from "../../hub/installations.ts";
import { profileAnywhere } from "../../hub/profiles.ts";
import { allKinds, missingNames, type Selection } from "../../selection/selection.ts";
import { ifDenied } from "../../spokes/spoke-reading.ts";
import type { DiagnoseFlags, Target } from "./diagnosis.ts";

/** Targets of the arguments, or of the file of `--filename`. */
export async function askedTargets(
  { args, flags, options, terminal }: ActionInput<DiagnoseFlags>,
  { hub, namespace }: Pick<Looking, "hub" | "namespace">,
  signal: AbortSignal,
): Promise<FoundTargets> {
  if (options.filename === undefined) return findTargets(args, { hub, namespace, flags }, signal);
  const { askedSelection } = await import("../../selection/selection-file.ts");
  const selection = await askedSelection({ args, flags, options, terminal }, { namespace }, signal);
  return targetsInFile(selection, { hub, flags }, signal);
}

const profileTypes = /^(?:cp|clusterprofiles?(?:\.multicluster\.x-k8s\.io)?)$/i;

/** Targets of the arguments; a name alone is an installation, or else a ClusterProfile. */
interface WantedTargets {
  /** ClusterProfiles by name. */
  readonly profiles: readonly Target[];
  /** Arguments about installations, as `readNames` takes them. */
  readonly rest: readonly string[];
}

/** Reads `cp/NAME`, `cp NAME …` and `NAMESPACE/PROFILE` apart from what names installations. */
export function readTargets(args: readonly string[], namespace: string): WantedTargets {
  const [first = "", ...names] = args;
  if (profileTypes.test(first))
    return { profiles: names.map((name) => profileOf(namespace, name)), rest: [] };
  const profiles: Target[] = [];
  const rest: string[] = [];
  for (const arg of args) {
    const [type = "", name = "", more] = arg.split("/");
    if (profileTypes.test(type) && name !== "") {
      profiles.push(more === undefined ? profileOf(namespace, name) : profileOf(name, more));
    } else rest.push(arg);
  }
  return { profiles, rest };
}

function profileOf(namespace: string, name: string): Target {
  return { kind: "ClusterProfile", namespace, name };
}

/** Targets to walk to, and the names of which there is none. */
export interface FoundTargets {
  readonly targets: readonly Target[];
  readonly missing: readonly string[];
}

interface Looking {
  readonly hub: KubeClient;
  /** Namespace of the kubeconfig context. */
  readonly namespace: string;
  readonly flags: Flags;
}

/** Looks up what the arguments select on the hub. Throws UsageError, NotServedError and what KubeClient throws. */
export async function findTargets(
  args: readonly string[],
  { hub, namespace: own, flags }: Looking,
  signal: AbortSignal,
): Promise<FoundTargets> {
  const namespace = flags.namespace === null ? own : flags.namespace;
  const { profiles: read, rest } = readTargets(args, namespace ?? own);
  const looking = {
    hub,
    namespace: namespace ?? own,
    anywhere: typeof flags.namespace !== "string",
  };
  const bare = bareProfiles(args);
  const profiles = await Promise.all(
    read.map(async (one) =>
      bare.includes(one.name) ? ((await profileTarget(one.name, looking, signal)) ?? one) : one,
    ),
  );
  if (rest.length === 0 && args.length > 0) return { targets: profiles, missing: [] };
  const pairs = rest.filter((arg) => isForeignPair(arg));
  const named = rest.filter((arg) => !isForeignPair(arg));
  const byPair = pairs.map((pair) => {
    const [space = "", name = ""] = pair.split("/");
    return profileOf(space, name);
  });
  if (named.length === 0 && args.length > 0) {
    return { targets: [...profiles, ...byPair], missing: [] };
  }
  const selection = selectionOf(named, flags, { namespace: own });
  const exact = exactTargets(selection);
  if (exact !== undefined) return { targets: [...profiles, ...byPair, ...exact], missing: [] };
  const { targets, all } = await listedTargets(selection, { hub, flags }, signal);
  const loose = named.filter((name) => !all.some((target) => target.name === name));
  const others = await profilesNamed(loose, looking, signal);
  const missing = missingNames(selection, all).filter(
    (text) => !others.some(({ name }) => text.endsWith(`"${name}"`)),
  );
  return { targets: [...profiles, ...byPair, ...targets, ...others], missing };
}

/** The installations of `--filename`. */
async function targetsInFile(
  selection: Selection,
  looking: Pick<Looking, "hub" | "flags">,
  signal: AbortSignal,
): Promise<FoundTargets> {
  const exact = exactTargets(selection);
  if (exact !== undefined) return { targets: exact, missing: [] };
  const { targets, all } = await listedTargets(selection, looking, signal);
  return { targets, missing: missingNames(selection, all) };
}

async function listedTargets(
  selection: Selection,
  { hub, flags }: Pick<Looking, "hub" | "flags">,
  signal: AbortSignal,
): Promise<{ readonly targets: readonly ComponentKey[]; readonly all: readonly ComponentKey[] }> {
  const hubTimeoutMs = flags.hub.requestTimeoutMs;
  const all = await listInstallations({ hub, hubTimeoutMs }, selection, signal);
  return {
    targets: inTrouble(all, selection).map(componentKeyOf),
    all: all.map(componentKeyOf),
  };
}

/** Targets that need no request to the hub; the walk itself reports their problems. */
function exactTargets(selection: Selection): readonly Target[] | undefined {
  const { names, namespace, labelSelector, cluster, on, reason, failed } = selection;
  const isFiltered = [labelSelector, cluster, on, reason].some((filter) => filter !== undefined);
  if (isFiltered || failed === true || names.length === 0) return undefined;
  const targets = names.flatMap(({ kind, name, namespace: place = namespace }) =>
    kind === undefined || place === undefined ? [] : [{ kind, namespace: place, name }],
  );
  return targets.length === names.length ? targets : undefined;
}

/** `fleet/spoke-1`: a pair whose first part is no type of installations. */
function isForeignPair(arg: string): boolean {
  const [type = "", name = "", ...more] = arg.split("/");
  if (name === "" || more.length > 0) return false;
  const plain = type.toLowerCase().split(".")[0] ?? "";
  return ![
    "ks",
    "ke",
    ...allKinds.flatMap((kind) => [kind.toLowerCase(), `${kind.toLowerCase()}s`]),
  ].includes(plain);
}

/** Names of ClusterProfiles that come without a namespace. */
function bareProfiles(args: readonly string[]): readonly string[] {
  const [first = "", ...names] = args;
  if (profileTypes.test(first)) return names;
  return args.flatMap((arg) => {
    const [type = "", name = "", more] = arg.split("/");
    return profileTypes.test(type) && more === undefined ? [name] : [];
  });
}

interface LookingForProfiles {
  readonly hub: KubeClient;
  readonly namespace: string;
  /** Whether other namespaces count where this one has no such ClusterProfile. */
  readonly anywhere: boolean;
}

async function profilesNamed(
  names: readonly string[],
  looking: LookingForProfiles,
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const plain = names.filter((name) => !name.includes("/"));
  const found = await Promise.all(plain.map((name) => profileTarget(name, looking, signal)));
  return found.filter((target) => target !== undefined);
}

async function profileTarget(
  name: string,
  { hub, namespace, anywhere }: LookingForProfiles,
  signal: AbortSignal,
): Promise<Target | undefined> {
  const own = await getProfile(hub, { namespace, name }, signal).catch(ifDenied);
  if (own !== undefined) return profileOf(namespace, name);
  if (!anywhere) return undefined;
  const other = await profileAnywhere(name, hub, signal).catch(ifAbsent);
  return other === undefined ? undefined : profileOf(other.metadata.namespace, name);
}

/** A hub without ClusterProfiles, or without the right to list them, has none of that name for us. */
function ifAbsent(error: unknown): undefined {
  if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return;
  throw error;
}
