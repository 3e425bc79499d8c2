import type { Component } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { listInstallations } from "../../hub/installations.ts";
import type { Selection } from "../../selection/selection.ts";
import { readEach, unreadErrors } from "../../spokes/read-clusters.ts";
import type { ReportError } from "../status/report.ts";
import { diffOf, type Diff } from "./diff-list.ts";
import { refusalOf, rendered, type DiffDeps } from "./diff.ts";
import { changesBetween, readLiveObjects } from "./live-objects.ts";

/** Names of two clusters: of ClusterProfiles, with or without their namespace, or `hub`. */
export type Ends = readonly [left: string, right: string];

/**
 * Compares what two clusters have of the objects that their installations consist of, in the fields that are rendered for either of them. Throws only
 * when the hub cannot be read.
 */
export async function diffBetween(
  { selection, ends }: { readonly selection: Selection; readonly ends: Ends },
  { access, limits, settings, now, cliVersion }: DiffDeps,
  signal: AbortSignal,
): Promise<Diff> {
  const [left = [], right = []] = await Promise.all(
    ends.map((cluster) => listInstallations(access, { ...selection, cluster }, signal)),
  );
  const { pairs, errors: unpaired } = pairsOf({ left, right }, ends);
  const components = pairs.flat();
  const wanted = await rendered(components, settings, signal);
  const made = new Map(
    [...wanted].flatMap(([uid, one]) => (one instanceof FleetError ? [] : [[uid, one] as const])),
  );
  const sound = components.filter(({ metadata }) => made.has(metadata.uid));
  const read = readLiveObjects(sound, made, settings);
  const readings = await readEach(sound, { access, limits, read }, signal);
  const found = new Map(
    [...readings.values()].flatMap((one) => (one.kind === "read" ? one.facts : [])),
  );
  const blocks = pairs.flatMap(([one, other]) => {
    const [mine, others] = [found.get(one.metadata.uid), found.get(other.metadata.uid)];
    if (mine === undefined || others === undefined) return [];
    const compared = new Set([...mine.live.keys(), ...others.live.keys()]).size;
    return [{ component: one, changes: changesBetween(mine, others), compared }];
  });
  const refused = components.flatMap((one) => refusalOf(one, wanted.get(one.metadata.uid)));
  const unread = unreadErrors(readings);
  const errors = [...unpaired, ...refused];
  return diffOf({ components, blocks, unread, errors, sides: ends }, { now, cliVersion });
}

interface Sides {
  readonly left: readonly Component[];
  readonly right: readonly Component[];
}

interface Pairs {
  readonly pairs: readonly (readonly [left: Component, right: Component])[];
  readonly errors: readonly ReportError[];
}

/** The installations that stand for each other: of one kind, and of one name where there are several. */
function pairsOf(sides: Sides, ends: Ends): Pairs {
  const kinds = new Set([...sides.left, ...sides.right].map(({ kind }) => kind));
  if (kinds.size === 0) {
    return { pairs: [], errors: ends.map((end) => notFound(`An installation on ${end}`)) };
  }
  const found = [...kinds].map((kind): Pairs => {
    const [first] = sides.left.filter((one) => one.kind === kind);
    const others = sides.right.filter((one) => one.kind === kind);
    const same = others.find(({ metadata }) => metadata.name === first?.metadata.name);
    const other = same ?? others[0];
    if (first !== undefined && other !== undefined) return { pairs: [[first, other]], errors: [] };
    const end = first === undefined ? ends[0] : ends[1];
    return { pairs: [], errors: [notFound(`A ${kind} on ${end}`)] };
  });
  return {
    pairs: found.flatMap(({ pairs }) => pairs),
    errors: found.flatMap(({ errors }) => errors),
  };
}

function notFound(what: string): ReportError {
  return { reason: "NotFound", message: `${what} not found`, cluster: null };
}
