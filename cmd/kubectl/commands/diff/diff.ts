import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import {
  type Comparable,
  comparableIn,
  comparableOf,
  fetchManifests,
} from "../../compare/comparable.ts";
import { compare, type Comparison } from "../../compare/compare.ts";
import type { RenderSettings } from "../../compare/render-component.ts";
import { readHubId, readTargetInstallation } from "../../compare/target-installation.ts";
import { selectInstallations } from "../../hub/installations.ts";
import { notFoundErrors, type ReportError, stampAt } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import {
  clusterIdOf,
  readEach,
  type ReadLimits,
  type ReadOne,
  unreadErrors,
} from "../../spokes/read-clusters.ts";
import { type Diff, diffOf, deniedErrors, installationError } from "./diff-list.ts";

export interface DiffDeps {
  readonly access: ClusterAccess;
  readonly limits: ReadLimits;
  readonly settings: RenderSettings;
  readonly now: () => Date;
}

/**
 * Compares the selected installations with what the controller of this version renders for them. Throws only when the hub cannot be read; failures of
 * single clusters and installations are in `errors`.
 */
export async function diff(
  selection: Selection,
  { access, limits, settings, now }: DiffDeps,
  signal: AbortSignal,
): Promise<Diff> {
  const { components, missing } = await selectInstallations(access, selection, signal);
  const hubId = await readHubId(access, signal);
  const wanted = await renderAll(components, settings, signal);
  const sound = components.filter(
    ({ metadata }) => !(wanted.get(metadata.uid) instanceof FleetError),
  );
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
  const errors = [
    ...notFoundErrors(missing),
    ...components.flatMap((one) => refusalOf(one, wanted.get(one.metadata.uid))),
    ...found.flatMap(({ errors: all }) => all),
  ];
  const unread = unreadErrors(readings);
  const sides = ["live", "rendered"] as const;
  return diffOf({ components, blocks, unread, errors, sides }, stampAt(now()));
}

type Wanted = ReadonlyMap<string, Comparable | FleetError>;

/** Renders the components one after the other; the result is by uid of the component. */
export async function renderAll(
  components: readonly Component[],
  settings: RenderSettings,
  signal: AbortSignal,
): Promise<Wanted> {
  await fetchManifests(components, settings);
  const pairs: (readonly [string, Comparable | FleetError])[] = [];
  for (const one of components) {
    signal.throwIfAborted();
    // Not in parallel, because equal components share one rendering.
    pairs.push([one.metadata.uid, await comparableOf(one, settings)]);
  }
  return new Map(pairs);
}

/** Why an installation could not be rendered. */
export function refusalOf(
  component: Component,
  found: Comparable | FleetError | undefined,
): readonly ReportError[] {
  return found instanceof FleetError ? [errorOf(component, found)] : [];
}

function errorOf(component: Component, error: FleetError): ReportError {
  const { code, reason, sentence } = error;
  return installationError(component, { reason: code ?? reason, message: sentence });
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
    const here = components.filter((component) => clusterIdOf(component) === id);
    return Promise.all(
      here.map(async (component): Promise<Found> => {
        const made = wanted.get(component.metadata.uid);
        if (made === undefined || made instanceof FleetError) {
          throw new Error("Unreachable: left out by the caller");
        }
        try {
          const { namespaceOf } = settings;
          const place = await readTargetInstallation(
            component,
            { client, hubId, namespaceOf },
            signal,
          );
          const { namespace } = place.target;
          const there = await comparableIn(namespace, made, { component, settings });
          const comparison = await compare({ place, ...there, asksForNew: false }, signal);
          const errors = deniedErrors(component, comparison.denied);
          return { component, comparison, errors };
        } catch (error) {
          if (!(error instanceof FleetError) || !isOfOne(error)) throw error;
          return { component, comparison: undefined, errors: [errorOf(component, error)] };
        }
      }),
    );
  };
}

/** Whether an error is about one installation, and not about its cluster. */
function isOfOne({ reason }: FleetError): boolean {
  return reason === "AnchorConflict" || reason === "ClusterBusy" || reason === "ManifestInvalid";
}
