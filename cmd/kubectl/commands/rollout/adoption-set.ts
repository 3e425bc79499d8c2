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
import { describe } from "../../../../api/kubernetes.ts";
import { DesiredSpecs, type RevisionContent } from "../../../../sets/desired-spec.ts";
import { commonOf, patchBetween, withoutReferences } from "./common-spec.ts";

/** A set as it is printed, without what an API server adds. */
export interface PrintedSet {
  readonly apiVersion: typeof fleetSetApiVersion;
  readonly kind: FleetSetKind;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: Pick<FleetSetSpec, "clusters" | "template" | "overrides" | "adoption">;
}

/** The set, and what it cannot express. */
export interface AdoptionSet {
  readonly set: PrintedSet;
  /** Components that the set would not take over, each with the reason. */
  readonly leftOut: readonly string[];
  /** Limits of sets that this one exceeds. */
  readonly problems: readonly string[];
}

interface Wanted {
  readonly kind: FleetSetKind;
  readonly name: string;
  readonly namespace: string;
  /** Of the namespaces that the components refer to; undefined: they could not be read. */
  readonly profiles: readonly ClusterProfile[] | undefined;
}

/** A component that the set can take over. */
interface Installed {
  readonly component: Component;
  readonly ref: ClusterProfileRef;
  /** Its spec as the set has to say it. */
  readonly spec: Readonly<Record<string, unknown>>;
}

const most = { overrides: 64, clusters: 256, exclusions: 256, namespaces: 20 } as const;

/**
 * A set that gives every component exactly the spec that it has: the template has what more than half of them share, overrides have the rest, by names of
 * clusters. Pure. Spec: sets.md 11.
 */
export function adoptionSet(components: readonly Component[], wanted: Wanted): AdoptionSet {
  const { installed, leftOut } = sorted(components);
  const { content, taken, wrong } = contentOf(installed);
  const clusters = clustersOf(taken, wanted);
  const { overrides = [] } = content;
  return {
    set: {
      apiVersion: fleetSetApiVersion,
      kind: wanted.kind,
      metadata: { name: wanted.name, namespace: wanted.namespace },
      spec: {
        clusters,
        template: content.template,
        ...(overrides.length === 0 ? {} : { overrides }),
        adoption: "IfEqual",
      },
    },
    leftOut: [...leftOut, ...wrong.map((one) => `${titleOf(one.component)}: ${inexpressible}`)],
    problems: problemsOf(overrides, clusters),
  };
}

const inexpressible = "no override can give it a field that is null";

function titleOf({ kind, metadata }: Component): string {
  return describe({ kind, ...metadata });
}

/** The components that a set can have, one for each cluster, and why the others cannot be in it. */
function sorted(components: readonly Component[]) {
  const installed: Installed[] = [];
  const leftOut: string[] = [];
  for (const component of components) {
    const why = obstacleOf(component, installed);
    const { clusterProfileRef: ref, ...spec } = component.spec ?? {};
    if (why !== undefined) leftOut.push(`${titleOf(component)}: ${why}`);
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
  if (ref === undefined) return "is installed on the hub itself, which is no cluster of a set";
  const twins = installed.filter((one) => one.ref.name === ref.name);
  if (twins.some((one) => one.ref.namespace === ref.namespace)) {
    return "another component has its cluster";
  }
  const isOther = twins.some((one) => !isSameJson(one.spec, withoutReferences(own)));
  return isOther
    ? `another ClusterProfile is named ${ref.name}, too, and overrides know names only`
    : undefined;
}

interface Content {
  readonly content: RevisionContent;
  readonly taken: readonly Installed[];
  readonly wrong: readonly Installed[];
}

/** Template and overrides, and the components that they do not give their spec to. */
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
  // Without those the others share other things.
  const rest = contentOf(taken);
  return { ...rest, wrong: [...wrong, ...rest.wrong] };
}

/** As much of a ClusterProfile as overrides by names look at. */
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

/** Clusters of one patch, as many in one override as the schema allows. */
function chunksOf(names: readonly string[], patch: SetOverride["patch"] = {}) {
  const distinct = [...new Set(names)];
  const count = Math.ceil(distinct.length / most.clusters);
  return Array.from({ length: count }, (_, at) => ({
    names: distinct.slice(at * most.clusters, (at + 1) * most.clusters),
    patch,
  }));
}

/** A DNS label that says which clusters it is for. */
function overrideName([first = "", ...more]: readonly string[], used: ReadonlySet<string>): string {
  const label = first.replaceAll(/[^a-z0-9-]/g, "-").slice(0, 40);
  const name = more.length === 0 ? label : `${label}-and-${more.length}-more`;
  const trimmed = name.replaceAll(/^-+|-+$/g, "");
  const usual = trimmed === "" ? "override" : trimmed;
  let unused = usual;
  for (let number = 2; used.has(unused); number += 1) unused = `${usual}-${number}`;
  return unused;
}

/** All ClusterProfiles of the namespaces, but those without such a component. */
function clustersOf(
  taken: readonly Installed[],
  { kind, namespace: home, profiles = [] }: Wanted,
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
