import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import {
  allKinds,
  type Component,
  componentKinds,
  isComponentKind,
  operatorApiVersion,
} from "../../../../api/component.ts";
import { componentId, targetId } from "../../../../api/keys.ts";
import { knownResource } from "../../../../api/resources.ts";
import type { Target } from "../../findings/diagnosis.ts";
import { findTargets } from "../../findings/targets.ts";
import type { Flags } from "../../flags.ts";
import { componentOf, listInstallations, NotServedError } from "../../hub/installations.ts";
import { bareComponent } from "../../rights/needs.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import { ifDenied } from "../../spokes/spoke-reading.ts";

/** What the arguments select: installations, and installed or possible components of ClusterProfiles. */
interface FoundComponents {
  readonly components: readonly Component[];
  /** Names that no installation has. */
  readonly missing: readonly string[];
  /** What could not be looked up, and what was assumed for it. */
  readonly notes: readonly string[];
}

const atOnce = 16;

/** Looks up what the arguments select. A ClusterProfile without installations stands for both kinds. Throws as `findTargets` does. */
export async function findComponents(
  args: readonly string[],
  { access, flags }: { readonly access: ClusterAccess; readonly flags: Flags },
  signal: AbortSignal,
): Promise<FoundComponents> {
  const { hub, namespace } = access;
  const found = await findTargets(args, { hub, namespace, flags }, signal);
  const profiles = found.targets.filter(({ kind }) => kind === "ClusterProfile");
  const named = await mapLimited(found.targets, atOnce, (target) =>
    installed(target, access, signal),
  );
  const all = profiles.length === 0 ? [] : await listEveryInstallation(access, signal);
  const installedOn = Map.groupBy(all ?? [], targetId);
  const onProfiles = profiles.flatMap(({ namespace: space, name }) => {
    const there = installedOn.get(`${space}/${name}`);
    if (there !== undefined) return there;
    return allKinds.map((kind) => {
      const { label } = componentKinds[kind];
      return bareComponent(kind, { namespace: label, name: label }, { namespace: space, name });
    });
  });
  const components = [...named.flatMap((one) => one.component ?? []), ...onProfiles];
  const byKey = new Map(components.map((one) => [`${targetId(one)} ${componentId(one)}`, one]));
  return {
    components: [...byKey.values()],
    missing: [...found.missing, ...named.flatMap((one) => one.missing ?? [])],
    notes: all === undefined ? [unlisted] : [],
  };
}

interface FoundComponent {
  readonly component?: Component;
  readonly missing?: string;
}

async function installed(
  { kind, namespace, name }: Target,
  { hub, hubTimeoutMs }: ClusterAccess,
  signal: AbortSignal,
): Promise<FoundComponent> {
  if (kind === "ClusterProfile") return {};
  if (!isComponentKind(kind)) return { missing: `An installation named ${kind}/${name}` };
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  const resource = knownResource(operatorApiVersion, kind);
  const object = await hub.get({ resource, namespace, name }, {}, deadline);
  if (object !== undefined) return { component: componentOf(object, kind) };
  return { missing: `${componentKinds[kind].plural}.operator.knative.dev "${name}"` };
}

const unlisted =
  "You may not list the installations of all namespaces: each ClusterProfile is taken for one without installations";

/** Lists the installations of all namespaces; undefined without the right to list them. */
async function listEveryInstallation(
  access: ClusterAccess,
  signal: AbortSignal,
): Promise<readonly Component[] | undefined> {
  const selection = { kinds: allKinds, names: [] };
  try {
    return await listInstallations(access, selection, signal).catch(ifDenied);
  } catch (error) {
    if (error instanceof NotServedError) return [];
    throw error;
  }
}
