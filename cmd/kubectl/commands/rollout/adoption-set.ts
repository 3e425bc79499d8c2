import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import type { ClusterProfileRef, Component } from "../../../../api/component.ts";
import { isSameJson } from "../../../../api/fields.ts";
import {
  type FleetSetKind,
  fleetSetApiVersion,
  type FleetSetSpec,
  fleetSetKinds,
  setLabels,
  type SetOverride,
} from "../../../../api/fleet-set.ts";
import { componentId } from "../../../../api/keys.ts";
import { DesiredSpecs, type RevisionContent } from "../../../../sets/desired-spec.ts";
import { commonOf, patchBetween, withoutReferences } from "./common-spec.ts";

/** A set as it is printed, without fields that an API server adds. */
export interface PrintedSet {
  readonly apiVersion: typeof fleetSetApiVersion;
  readonly kind: FleetSetKind;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: Pick<FleetSetSpec, "clusters" | "template" | "overrides" | "adoption">;
}

/** A set for existing components, and the components that it cannot adopt. */
export interface AdoptionSet {
  readonly set: PrintedSet;
  /** Number of components that the set can adopt; with none of them the set is empty. */
  readonly adopted: number;
  /** Components that the set cannot adopt, each with the reason. */
  readonly leftOut: readonly string[];
  /** Limits of sets that this one exceeds. */
  readonly problems: readonly string[];
}

interface AdoptionOptions {
  readonly kind: FleetSetKind;
  readonly name: string;
  readonly namespace: string;
  /** In the namespaces that the components reference; undefined when they could not be read. */
  readonly profiles: readonly ClusterProfile[] | undefined;
}

/** A component that the set can adopt. */
interface Installed {
  readonly component: Component;
  readonly ref: ClusterProfileRef;
  /** Its spec, escaped for a template. */
  readonly spec: Readonly<Record<string, unknown>>;
}

const most = { overrides: 64, clusters: 256, exclusions: 256, namespaces: 20 } as const;

/**
 * Makes a set that gives each component exactly the spec that it has. The template has the fields that more than half of the components share; overrides
 * by cluster name have the rest. Pure. Spec: sets.md 11.
 */
export function adoptionSet(
  components: readonly Component[],
  options: AdoptionOptions,
): AdoptionSet {
  const { installed, leftOut } = sorted(components);
  const { content, taken, wrong } = contentOf(installed);
  const clusters = clustersOf(taken, options);
  const { overrides = [] } = content;
  return {
    set: {
      apiVersion: fleetSetApiVersion,
      kind: options.kind,
      metadata: { name: options.name, namespace: options.namespace },
      spec: {
        clusters,
        template: content.template,
        ...(overrides.length === 0 ? {} : { overrides }),
        adoption: "IfEqual",
      },
    },
    adopted: taken.length,
    leftOut: [...leftOut, ...wrong.map((one) => `${componentId(one.component)}: ${inexpressible}`)],
    problems: problemsOf(overrides, clusters),
  };
}

const inexpressible = "no override can give it a field that is null";

/** The components that a set can adopt, one for each cluster, and why it cannot adopt the others. */
function sorted(components: readonly Component[]) {
  const installed: Installed[] = [];
  const leftOut: string[] = [];
  for (const component of components) {
    const why = obstacleOf(component, installed);
    const { clusterProfileRef: ref, ...spec } = component.spec ?? {};
    if (why !== undefined) leftOut.push(`${componentId(component)}: ${why}`);
    else if (ref !== undefined) installed.push({ component, ref, spec: withoutReferences(spec) });
  }
  return { installed, leftOut };
}

function obstacleOf(
  { spec, metadata }: Component,
  installed: readonly Installed[],
): string | undefined {
  const { clusterProfileRef: ref, ...own } = spec ?? {};
  const owner = metadata.labels?.[setLabels.set];
  if (owner !== undefined) return `belongs to the set ${owner}`;
  if (metadata.deletionTimestamp !== undefined) return "is being deleted";
  if (ref === undefined) return "is installed on the hub itself, which no set can select";
  const sameName = installed.filter((one) => one.ref.name === ref.name);
  if (sameName.some((one) => one.ref.namespace === ref.namespace)) {
    return "another component is for the same cluster";
  }
  const hasOtherSpec = sameName.some((one) => !isSameJson(one.spec, withoutReferences(own)));
  return hasOtherSpec
    ? `another ClusterProfile has the name ${ref.name} too, and overrides select clusters by name only`
    : undefined;
}

interface Content {
  readonly content: RevisionContent;
  readonly taken: readonly Installed[];
  readonly wrong: readonly Installed[];
}

/** Template and overrides, the components whose spec they give exactly, and those for which they cannot. */
function contentOf(installed: readonly Installed[]): Content {
  const content = contentFor(installed);
  const specs = new DesiredSpecs(content);
  const isRight = ({ ref, component }: Installed): boolean => {
    const desired = specs.of(profileStub(ref));
    const { clusterProfileRef: _ref, ...own } = component.spec ?? {};
    return "spec" in desired && isSameJson(desired.spec, own);
  };
  const { taken = [], wrong = [] } = Object.groupBy(installed, (one) =>
    isRight(one) ? "taken" : "wrong",
  );
  if (wrong.length === 0) return { content, taken, wrong };
  // Without the wrong ones, the others may share other fields.
  const rest = contentOf(taken);
  return { ...rest, wrong: [...wrong, ...rest.wrong] };
}

/** A ClusterProfile with only the fields that overrides by name use. */
function profileStub({ namespace, name }: ClusterProfileRef): ClusterProfile {
  const metadata = { namespace, name, uid: "", resourceVersion: "" };
  return { apiVersion: "", kind: "ClusterProfile", metadata };
}

function contentFor(installed: readonly Installed[]): RevisionContent {
  const template = commonOf(installed.map(({ spec }) => spec));
  const patched = installed
    .map(({ ref, spec }) => ({ name: ref.name, patch: patchBetween(template, spec) }))
    .filter(({ patch }) => Object.keys(patch).length > 0);
  const groups = [...Map.groupBy(patched, ({ patch }) => JSON.stringify(patch)).values()];
  const chunks = groups.flatMap((group) =>
    chunksOf(
      group.map(({ name }) => name),
      group[0]?.patch,
    ),
  );
  const used = new Set<string>();
  const overrides = chunks.map(({ names, patch }): SetOverride => {
    const name = overrideName(names, used);
    used.add(name);
    return { name, clusters: names, patch };
  });
  return { template: { spec: template }, overrides };
}

/** Divides the clusters of one patch into overrides, because the schema limits the clusters of each. */
function chunksOf(names: readonly string[], patch: SetOverride["patch"] = {}) {
  const distinct = [...new Set(names)];
  const count = Math.ceil(distinct.length / most.clusters);
  return Array.from({ length: count }, (_, at) => ({
    names: distinct.slice(at * most.clusters, (at + 1) * most.clusters),
    patch,
  }));
}

/** An unused name for an override, made from the names of its clusters. */
function overrideName([first = "", ...more]: readonly string[], used: ReadonlySet<string>): string {
  const label = first.replaceAll(/[^a-z0-9-]/g, "-").slice(0, 40);
  const name = more.length === 0 ? label : `${label}-and-${more.length}-more`;
  const trimmed = name.replaceAll(/^-+|-+$/g, "");
  const usual = trimmed === "" ? "override" : trimmed;
  let unused = usual;
  for (let number = 2; used.has(unused); number += 1) unused = `${usual}-${number}`;
  return unused;
}

/** Selects all ClusterProfiles in the namespaces of the adopted components, and excludes those without one of them. */
function clustersOf(
  taken: readonly Installed[],
  { kind, namespace: home, profiles = [] }: AdoptionOptions,
): FleetSetSpec["clusters"] {
  const namespaces = [...new Set(taken.map(({ ref }) => ref.namespace))].toSorted();
  const isHome = namespaces.every((namespace) => namespace === home);
  const keys = new Set(taken.map(({ ref }) => `${ref.namespace}/${ref.name}`));
  const others = profiles
    .map(({ metadata: { namespace, name } }) => ({ namespace, name }))
    .filter(
      (one) => namespaces.includes(one.namespace) && !keys.has(`${one.namespace}/${one.name}`),
    );
  const reason = `no ${fleetSetKinds[kind].component} of this set`;
  const exclude = others.map(({ namespace, name }) => ({
    name,
    ...(namespace === home ? {} : { namespace }),
    reason,
  }));
  return {
    from: "Selector",
    selector: isHome ? {} : { namespaces },
    ...(exclude.length === 0 ? {} : { exclude }),
  };
}

function problemsOf(
  overrides: readonly SetOverride[],
  { selector, exclude = [] }: FleetSetSpec["clusters"],
): readonly string[] {
  const counts = [
    ["overrides", overrides.length, most.overrides],
    ["excluded clusters", exclude.length, most.exclusions],
    ["namespaces of clusters", selector?.namespaces?.length ?? 0, most.namespaces],
  ] as const;
  return counts
    .filter(([, count, limit]) => count > limit)
    .map(([what, count, limit]) => `a set has at most ${limit} ${what}, and this one ${count}`);
}
