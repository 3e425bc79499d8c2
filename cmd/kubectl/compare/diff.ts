import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { targetId } from "../../../api/keys.ts";
import { selectInstallations } from "../hub/installations.ts";
import { renderError, type ReportError, stampAt } from "../output/report.ts";
import type { Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { readEach, type ReadLimits, type ReadOne, unreadErrors } from "../spokes/read-clusters.ts";
import { findWays } from "../spokes/wayless.ts";
import { type Comparable, comparableIn, comparableOf, fetchSources } from "./comparable.ts";
import { compare, type CompareOptions, type Comparison } from "./compare.ts";
import { type Diff, diffOf, deniedErrors } from "./diff-list.ts";
import type { RenderSettings } from "./render-component.ts";
import { readHubId, readTargetInstallation } from "./target-installation.ts";

export interface DiffDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly settings: RenderSettings;
  readonly now: () => Date;
}

/**
 * Compares the selected installations with what the controller of this version renders for them. Throws only when the hub cannot be read, or without
 * release files; failures of single clusters and installations are in `errors`.
 */
export async function diff(
  selection: Selection,
  { access, limits, settings, now }: DiffDeps,
  signal: AbortSignal,
): Promise<Diff> {
  const { components, missing } = await selectInstallations(access, selection, signal);
  const hubId = await readHubId(access, signal);
  const { near, wayless } = await findWays(components, { access, limits }, signal);
  const wanted = await renderAll(near, settings, signal);
  const sound = near.filter(({ metadata }) => !(wanted.get(metadata.uid) instanceof FleetError));
  const read = compareOn(sound, wanted, { hubId, settings });
  const readings = await readEach(sound, { access, limits, read }, signal);
  const found = [...readings.values()].flatMap((reading) =>
    reading.kind === "read" ? reading.facts : [],
  );
  const blocks = found.map(({ component, comparison }) => ({
    component,
    changes: comparison?.changes ?? [],
    compared: comparison?.compared ?? 0,
  }));
  const refused = components.flatMap((component) => {
    const error = wanted.get(component.metadata.uid);
    return error instanceof FleetError ? [{ component, error: renderError(component, error) }] : [];
  });
  const failures = [
    ...refused,
    ...found.flatMap(({ component, errors }) => errors.map((error) => ({ component, error }))),
  ];
  const unread = unreadErrors(new Map([...wayless, ...readings]));
  return diffOf({ components, blocks, failures, missing, unread }, stampAt(now()));
}

type Wanted = ReadonlyMap<string, Comparable | FleetError>;

/** Renders the components one after the other; the result is by uid of the component. */
async function renderAll(
  components: readonly Component[],
  settings: RenderSettings,
  signal: AbortSignal,
): Promise<Wanted> {
  await fetchSources(components, settings);
  const pairs: (readonly [string, Comparable | FleetError])[] = [];
  for (const one of components) {
    signal.throwIfAborted();
    // Not in parallel, because equal components share one rendering.
    pairs.push([one.metadata.uid, await comparableOf(one, settings)]);
  }
  return new Map(pairs);
}

interface Found {
  readonly component: Component;
  /** Undefined: the comparison failed. */
  readonly comparison: Comparison | undefined;
  readonly errors: readonly ReportError[];
}

function compareOn(
  components: readonly Component[],
  wanted: Wanted,
  { hubId, settings }: Pick<DiffDeps, "settings"> & { readonly hubId: string | undefined },
): ReadOne<readonly Found[]> {
  return async ({ id, client }, signal) => {
    const here = components.filter((component) => targetId(component) === id);
    return Promise.all(
      here.map(async (component): Promise<Found> => {
        const made = wanted.get(component.metadata.uid);
        if (made === undefined || made instanceof FleetError) {
          throw new Error("Unreachable: left out by the caller");
        }
        try {
          const deps = { made, client, hubId, settings, asksForNew: false };
          return { component, ...(await compareOnTarget(component, deps, signal)) };
        } catch (error) {
          if (!(error instanceof FleetError) || !isOfOne(error)) throw error;
          return { component, comparison: undefined, errors: [renderError(component, error)] };
        }
      }),
    );
  };
}

interface TargetComparison extends Pick<CompareOptions, "asksForNew"> {
  readonly made: Comparable;
  readonly client: KubeClient;
  readonly hubId: string | undefined;
  readonly settings: RenderSettings;
}

/** Compares a rendered component with its installation on its target. `errors`: objects without the right to read them. Throws what KubeClient throws, and FleetError. */
export async function compareOnTarget(
  component: Component,
  { made, client, hubId, settings, asksForNew }: TargetComparison,
  signal: AbortSignal,
): Promise<{ readonly comparison: Comparison; readonly errors: readonly ReportError[] }> {
  const { namespaceOf } = settings;
  const place = await readTargetInstallation(component, { client, hubId, namespaceOf }, signal);
  const there = await comparableIn(place.target.namespace, made, { component, settings });
  const comparison = await compare({ place, ...there, asksForNew }, signal);
  return { comparison, errors: deniedErrors(component, comparison.denied) };
}

/** Whether an error is about one installation, and not about its cluster. */
function isOfOne({ reason }: FleetError): boolean {
  return reason === "AnchorConflict" || reason === "ClusterBusy" || reason === "ManifestInvalid";
}
