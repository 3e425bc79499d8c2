import { unlessDenied } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { getProfile } from "../../../access/kube/profile-versions.ts";
import { allKinds, type ComponentKey, componentKeyOf } from "../../../api/component.ts";
import { type ActionInput, selectionOf } from "../action.ts";
import { UsageError } from "../errors.ts";
import type { Flags } from "../flags.ts";
import { inTrouble, listInstallations } from "../hub/installations.ts";
import { malformedOf } from "../hub/malformed-objects.ts";
import { findProfileAnywhere } from "../hub/profiles.ts";
import { namedNamespace, namespaceOf } from "../selection/hub-namespace.ts";
import { missingNames, type Selection } from "../selection/selection.ts";
import { fleetSetKindOf, fleetSetRefOf } from "../selection/set-ref.ts";
import { ifDenied } from "../spokes/spoke-reading.ts";
import type { DiagnoseFlags, Target } from "./diagnosis.ts";

/** Targets of the arguments, or of the file of `--filename`. */
export async function selectTargets(
  { args, flags, options, terminal }: ActionInput<DiagnoseFlags>,
  { hub, namespace }: Pick<TargetLookup, "hub" | "namespace">,
  signal: AbortSignal,
): Promise<FoundTargets> {
  if (options.filename === undefined) return findTargets(args, { hub, namespace, flags }, signal);
  const { readSelection } = await import("../selection/selection-file.ts");
  const selection = await readSelection({ args, flags, options, terminal }, { namespace }, signal);
  return findTargetsOfFile(selection, { hub, flags }, signal);
}

const profileTypes = /^(?:cp|clusterprofiles?(?:\.multicluster\.x-k8s\.io)?)$/i;

/** What the arguments name, before the hub is asked. */
interface ArgumentTargets {
  /** ClusterProfiles by name. */
  readonly profiles: readonly Target[];
  /** Fleet sets. */
  readonly sets: readonly Target[];
  /** All other arguments, which `readNames` reads as installations. */
  readonly rest: readonly string[];
}

/** Separates the arguments `cp/NAME` and `cp NAME …` from the others. */
export function readTargets(args: readonly string[], namespace: string): ArgumentTargets {
  const [first = "", ...names] = args;
  if (profileTypes.test(first)) {
    return { profiles: names.map((name) => profileOf(namespace, name)), sets: [], rest: [] };
  }
  // `kss prod` is `kss/prod`.
  const isTyped = fleetSetKindOf(first) !== undefined && names.length > 0;
  const words = isTyped ? names.map((name) => `${first}/${name}`) : args;
  const profiles: Target[] = [];
  const sets: Target[] = [];
  const rest: string[] = [];
  for (const arg of words) {
    const set = fleetSetRefOf(arg);
    if (set !== undefined) {
      sets.push({ ...set, namespace });
      continue;
    }
    const [type = "", name = "", more] = arg.split("/");
    if (profileTypes.test(type) && name !== "") {
      profiles.push(more === undefined ? profileOf(namespace, name) : profileOf(name, more));
    } else rest.push(arg);
  }
  return { profiles, sets, rest };
}

function profileOf(namespace: string, name: string): Target {
  return { kind: "ClusterProfile", namespace, name };
}

/** Targets to walk to, and names that nothing has. */
export interface FoundTargets {
  readonly targets: readonly Target[];
  readonly missing: readonly string[];
}

interface TargetLookup {
  readonly hub: KubeClient;
  /** Namespace of the kubeconfig context. */
  readonly namespace: string;
  readonly flags: Flags;
}

/**
 * Looks up on the hub what the arguments select: a name alone is an installation, else a ClusterProfile. Throws UsageError, NotServedError and what
 * KubeClient throws.
 */
export async function findTargets(
  args: readonly string[],
  { hub, namespace: own, flags }: TargetLookup,
  signal: AbortSignal,
): Promise<FoundTargets> {
  const namespace = namespaceOf(flags, { namespace: own });
  const { profiles: read, sets, rest } = readTargets(args, namespace ?? own);
  if (sets.length > 0 && namespace === undefined) {
    throw new UsageError("A set cannot be named in all namespaces", [
      "Name its namespace with -n.",
    ]);
  }
  const lookup = {
    hub,
    namespace: namespace ?? own,
    inAllNamespaces: namedNamespace(flags) === undefined,
  };
  const bare = bareProfileNames(args);
  const profiles = await Promise.all(
    read.map(async (one) =>
      bare.includes(one.name) ? ((await findProfile(one.name, lookup, signal)) ?? one) : one,
    ),
  );
  const found = [...sets, ...profiles];
  if (rest.length === 0 && args.length > 0) return { targets: found, missing: [] };
  const pairs = rest.filter((arg) => isProfilePair(arg));
  const named = rest.filter((arg) => !isProfilePair(arg));
  const byPair = pairs.map((pair) => {
    const [space = "", name = ""] = pair.split("/");
    return profileOf(space, name);
  });
  if (named.length === 0 && args.length > 0) {
    return { targets: [...found, ...byPair], missing: [] };
  }
  const selection = selectionOf(named, flags, { namespace: own });
  const exact = exactTargets(selection);
  if (exact !== undefined) return { targets: [...found, ...byPair, ...exact], missing: [] };
  const { targets, all } = await listTargets(selection, { hub, flags }, signal);
  const loose = named.filter((name) => !all.some((target) => target.name === name));
  const others = await findProfiles(loose, lookup, signal);
  // What a ClusterProfile has is no name of an installation.
  const names = selection.names.filter(({ name }) => !others.some((other) => other.name === name));
  const missing = missingNames({ ...selection, names }, all);
  return { targets: [...found, ...byPair, ...targets, ...others], missing };
}

/** The installations of `--filename`. */
async function findTargetsOfFile(
  selection: Selection,
  lookup: Pick<TargetLookup, "hub" | "flags">,
  signal: AbortSignal,
): Promise<FoundTargets> {
  const exact = exactTargets(selection);
  if (exact !== undefined) return { targets: exact, missing: [] };
  const { targets, all } = await listTargets(selection, lookup, signal);
  return { targets, missing: missingNames(selection, all) };
}

async function listTargets(
  selection: Selection,
  { hub, flags }: Pick<TargetLookup, "hub" | "flags">,
  signal: AbortSignal,
): Promise<{ readonly targets: readonly ComponentKey[]; readonly all: readonly ComponentKey[] }> {
  const access = { hub, hubTimeoutMs: flags.hub.requestTimeoutMs, ...malformedOf(flags) };
  const all = await listInstallations(access, selection, signal);
  return {
    targets: inTrouble(all, selection).map(componentKeyOf),
    all: all.map(componentKeyOf),
  };
}

/** Targets that are named in full, so that the hub need not be asked; the walk reports a target that does not exist. */
function exactTargets(selection: Selection): readonly Target[] | undefined {
  const { names, namespace, labelSelector, cluster, on, reason, failed } = selection;
  const isFiltered = [labelSelector, cluster, on, reason].some((filter) => filter !== undefined);
  if (isFiltered || failed === true || names.length === 0) return undefined;
  const targets = names.flatMap(({ kind, name, namespace: place = namespace }) =>
    kind === undefined || place === undefined ? [] : [{ kind, namespace: place, name }],
  );
  return targets.length === names.length ? targets : undefined;
}

/** Whether an argument is `NAMESPACE/CLUSTERPROFILE`, and not `TYPE/NAME` of an installation. */
function isProfilePair(arg: string): boolean {
  const [type = "", name = "", ...more] = arg.split("/");
  if (name === "" || more.length > 0) return false;
  const plain = type.toLowerCase().split(".")[0] ?? "";
  return ![
    "ks",
    "ke",
    ...allKinds.flatMap((kind) => [kind.toLowerCase(), `${kind.toLowerCase()}s`]),
  ].includes(plain);
}

/** Names of ClusterProfiles that are given without a namespace. */
function bareProfileNames(args: readonly string[]): readonly string[] {
  const [first = "", ...names] = args;
  if (profileTypes.test(first)) return names;
  return args.flatMap((arg) => {
    const [type = "", name = "", more] = arg.split("/");
    return profileTypes.test(type) && more === undefined ? [name] : [];
  });
}

interface ProfileLookup {
  readonly hub: KubeClient;
  readonly namespace: string;
  /** Whether to look in other namespaces, too, when this one has no such ClusterProfile. */
  readonly inAllNamespaces: boolean;
}

async function findProfiles(
  names: readonly string[],
  lookup: ProfileLookup,
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const plain = names.filter((name) => !name.includes("/"));
  const found = await Promise.all(plain.map((name) => findProfile(name, lookup, signal)));
  return found.filter((target) => target !== undefined);
}

async function findProfile(
  name: string,
  { hub, namespace, inAllNamespaces }: ProfileLookup,
  signal: AbortSignal,
): Promise<Target | undefined> {
  const own = await getProfile(hub, { namespace, name }, signal).catch(ifDenied);
  if (own !== undefined) return profileOf(namespace, name);
  if (!inAllNamespaces) return undefined;
  const other = await unlessDenied(findProfileAnywhere(name, hub, signal));
  return other === undefined ? undefined : profileOf(other.metadata.namespace, name);
}
