import type { KubeClient } from "../../../access/kube-client.ts";
import { getProfile } from "../../../access/profile-versions.ts";
import { selectionOf } from "../action.ts";
import type { Flags } from "../flags.ts";
import { inTrouble, listInstallations } from "../installations.ts";
import { allKinds, missingNames, type Selection } from "../selection.ts";
import type { Target } from "./diagnosis.ts";
import { ifDenied } from "./if-denied.ts";

const profileTypes = /^(?:cp|clusterprofiles?(?:\.multicluster\.x-k8s\.io)?)$/i;

/** What the arguments name; a name alone is an installation, or else a ClusterProfile. */
export interface WantedTargets {
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
  const { profiles, rest } = readTargets(args, namespace ?? own);
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
  const hubTimeoutMs = flags.hub.requestTimeoutMs;
  const listed = await listInstallations({ hub, hubTimeoutMs }, selection, signal);
  const components = inTrouble(listed, selection);
  const targets = components.map(({ kind, metadata: { namespace: space, name } }) => ({
    kind,
    namespace: space,
    name,
  }));
  const loose = named.filter((name) => !targets.some((target) => target.name === name));
  const others = await profilesNamed(loose, { hub, namespace: namespace ?? own }, signal);
  const missing = missingNames(selection, targets).filter(
    (text) => !others.some(({ name }) => text.endsWith(`"${name}"`)),
  );
  return { targets: [...profiles, ...byPair, ...targets, ...others], missing };
}

/** Targets that need no look at the hub: what is wrong with them is for the walk to find out. */
function exactTargets(selection: Selection): readonly Target[] | undefined {
  const { names, namespace, labelSelector, cluster, on, reason, failed } = selection;
  const isFiltered = [labelSelector, cluster, on, reason].some((filter) => filter !== undefined);
  if (namespace === undefined || isFiltered || failed === true) return undefined;
  if (names.length === 0) return undefined;
  const targets = names.flatMap(({ kind, name }) =>
    kind === undefined ? [] : [{ kind, namespace, name }],
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

async function profilesNamed(
  names: readonly string[],
  { hub, namespace }: { readonly hub: KubeClient; readonly namespace: string },
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const plain = names.filter((name) => !name.includes("/"));
  const found = await Promise.all(
    plain.map(async (name) => {
      const profile = await getProfile(hub, { namespace, name }, signal).catch(ifDenied);
      return profile === undefined ? [] : [profileOf(namespace, name)];
    }),
  );
  return found.flat();
}
