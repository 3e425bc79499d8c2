import {
  type Component,
  type ComponentKind,
  componentKinds,
  withoutV,
} from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import {
  assertKubernetesVersion,
  migrationRefusal,
  minorOf,
  newestFirst,
  targetVersion,
} from "../../../../render/release/version.ts";
import { readReleaseLock } from "../../../release-files.ts";
import type { ReleaseLock } from "../../../release-lock.ts";
import type { ControllerDeployment } from "../../hub/find-controller.ts";
import { countOf } from "../../output/notes.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";
import { tagOf } from "../../spokes/workload-fact.ts";
import type { AgentVersion } from "./agents.ts";

/** Two versions that disagree. */
export interface Skew {
  /**
   * `Wanted`: the spec's and the installed one; `Live`: the installed one and that of Deployments; `Kubernetes`: the cluster is too old for Knative;
   * `Controller`: the controller's and this program's; `Agent`: that of the controllers on spokes that pull, and this program's.
   */
  readonly between: "Wanted" | "Live" | "Kubernetes" | "Controller" | "Agent";
  readonly message: string;
}

/** Versions of one installation that disagree; an unknown version disagrees with none. */
export function skewOf(component: Component, { known, live, kubernetes }: Facts): readonly Skew[] {
  return [
    ...wantedSkew(component, known),
    ...liveSkew(component, live ?? []),
    ...(kubernetes === null ? [] : tooOld(kubernetes)),
  ];
}

interface Facts {
  /** Versions that this release of knfleet brings, newest first. */
  readonly known: readonly string[];
  /** Null when the cluster was not read. */
  readonly live: readonly LiveVersion[] | null;
  readonly kubernetes: string | null;
}

function wantedSkew({ kind, spec, status }: Component, known: readonly string[]): readonly Skew[] {
  const wanted = spec?.version ?? "";
  const installed = status?.version ?? "";
  // Without spec.version the controller chooses one of its own.
  if (!/\d/.test(wanted)) return [];
  if (targetVersion(wanted, known, kind) === installed || minorOf(installed) === wanted) return [];
  const there = installed === "" ? "nothing" : installed;
  return [skew("Wanted", `${wanted} is wanted, ${there} is installed`)];
}

function liveSkew({ kind, status }: Component, live: readonly LiveVersion[]): readonly Skew[] {
  const installed = status?.version ?? "";
  const foreign = installed === "" ? [] : foreignTo(installed, live);
  if (foreign.length === 0) return [];
  const count = foreign.reduce((sum, { deployments }) => sum + deployments, 0);
  const versions = foreign.map(({ version }) => version).join(", ");
  return [skew("Live", `${count} of the Deployments of ${kind} are of ${versions}`)];
}

/** Number of Deployments of each version; null for an unknown version. */
export interface LiveVersion {
  readonly version: string | null;
  readonly deployments: number;
}

/** Live versions that disagree with the installed one. When a Deployment has the installed version, others may differ in the patch, as an ingress does. */
function foreignTo(installed: string, live: readonly LiveVersion[]): readonly LiveVersion[] {
  const numbered = live.filter(({ version }) => /^\d+\.\d+/.test(version ?? ""));
  const isThere = numbered.some(({ version }) => version === installed);
  return numbered.filter(({ version }) =>
    isThere ? minorOf(version ?? "") !== minorOf(installed) : true,
  );
}

function tooOld(kubernetes: string): readonly Skew[] {
  try {
    assertKubernetesVersion(kubernetes, {});
    return [];
  } catch (error) {
    if (error instanceof FleetError) return [skew("Kubernetes", error.message)];
    throw error;
  }
}

/** The skew of controllers of knfleet on the hub with another minor version than this program. */
export function controllerSkew(
  controllers: readonly ControllerVersion[] | null,
  client: string,
): readonly Skew[] {
  return (controllers ?? []).flatMap(({ flavour, namespace, name, version }) => {
    if (flavour !== "knfleet" || version === null) return [];
    if (minorOf(version) === minorOf(client)) return [];
    const message = `${namespace}/${name} is ${version}, this program ${client}`;
    return [skew("Controller", message)];
  });
}

/** Agents of another minor version than this program. */
export function agentSkew(agents: readonly AgentVersion[] | null, client: string): readonly Skew[] {
  return (agents ?? []).flatMap(({ version, clusters }) => {
    if (version === null || minorOf(version) === minorOf(client)) return [];
    const message = `the agent on ${countOf(clusters, "cluster")} is ${version}, this program ${client}`;
    return [skew("Agent", message)];
  });
}

function skew(between: Skew["between"], message: string): Skew {
  return { between, message };
}

/** An image, and the version in its tag. */
interface NamedImage {
  readonly name: string;
  readonly image: string;
  readonly version: string | null;
}

/** A controller of the components on the hub. */
export interface ControllerVersion {
  readonly flavour: ControllerDeployment["flavour"];
  readonly namespace: string;
  readonly name: string;
  readonly image: string | null;
  readonly version: string | null;
  /** Images that bring exec plugins: those of volumes and of init containers. */
  readonly plugins: readonly NamedImage[];
}

/** The version of a controller, by its Deployment. */
export function controllerVersionOf({
  flavour,
  namespace,
  name,
  object,
}: ControllerDeployment): ControllerVersion {
  const pod = ["spec", "template", "spec"];
  const [container] = itemsAt(object, ...pod, "containers");
  const image = stringAt(container, "image");
  const label = object.metadata.labels?.["app.kubernetes.io/version"];
  const volumes = itemsAt(object, ...pod, "volumes").map((volume) => ({
    name: stringAt(volume, "name"),
    image: stringAt(volume, "image", "reference"),
  }));
  const starters = itemsAt(object, ...pod, "initContainers").map((one) => ({
    name: stringAt(one, "name"),
    image: stringAt(one, "image"),
  }));
  return {
    flavour,
    namespace,
    name,
    image,
    version: label === undefined ? tagOf(image ?? "") : withoutV(label),
    plugins: [...volumes, ...starters].flatMap((one) =>
      one.name === null || one.image === null
        ? []
        : [{ name: one.name, image: one.image, version: tagOf(one.image) }],
    ),
  };
}

/** Versions of each kind that this release of knfleet brings, newest first. */
export type KnownVersions = Readonly<Record<ComponentKind, readonly string[]>>;

/** The versions of a lock file. */
export function knownVersions({ files }: Pick<ReleaseLock, "files">): KnownVersions {
  const of = (kind: ComponentKind): readonly string[] => {
    const folder = `${componentKinds[kind].label}/`;
    const names = files
      .filter(({ path }) => path.startsWith(folder))
      .map(({ path }) => path.slice(folder.length).split("/")[0] ?? "");
    return [...new Set(names)].toSorted(newestFirst);
  };
  return { KnativeServing: of("KnativeServing"), KnativeEventing: of("KnativeEventing") };
}

/** The newest version to which one upgrade can lead; null when it is installed, or nothing is. */
export function nextVersion(
  kind: ComponentKind,
  installed: string | null,
  known: readonly string[],
): string | null {
  if (installed === null) return null;
  const newer = known.filter((version) => newestFirst(version, installed) < 0);
  return (
    newer.find((target) => migrationRefusal({ kind, installed, target }) === undefined) ?? null
  );
}

/** The versions that this release of knfleet brings; none when its list of releases is not beside the program. */
export async function readKnownReleases(): Promise<KnownVersions> {
  try {
    return knownVersions(await readReleaseLock());
  } catch (error) {
    if (error instanceof FleetError) return { KnativeServing: [], KnativeEventing: [] };
    throw error;
  }
}
