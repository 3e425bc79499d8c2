import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { type Component, componentKinds } from "../../../../api/component.ts";
import { FleetError } from "../../../../api/errors.ts";
import { isRecord, isSameJson } from "../../../../api/fields.ts";
import { identityOf, isJob, keyOf, type Manifest } from "../../../../api/kubernetes.ts";
import { findAnchorNamespaces } from "../../../../controller/reconcile/resolve.ts";
import { type Comparable, comparableIn } from "../../compare/comparable.ts";
import type { ObjectChange } from "../../compare/compare.ts";
import { maskSecrets, neat, keepShape, type Sides, withoutMarks } from "../../compare/neat.ts";
import type { RenderSettings } from "../../compare/render-component.ts";
import { listInstallations } from "../../hub/installations.ts";
import { type ReportError, stampAt } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import {
  clusterIdOf,
  mapLimited,
  readEach,
  type ReadOne,
  unreadErrors,
} from "../../spokes/read-clusters.ts";
import { findWays } from "../../spokes/wayless.ts";
import { type Diff, diffOf } from "./diff-list.ts";
import { type DiffDeps, refusalOf, renderAll } from "./diff.ts";

/** Names of two clusters: of ClusterProfiles, with or without their namespace, or `hub`. */
export type Ends = readonly [left: string, right: string];

/**
 * Compares the objects of installations on two clusters, in the fields that are rendered for one of the two. Throws only when the hub cannot be
 * read, or without release files.
 */
export async function diffBetween(
  { selection, ends }: { readonly selection: Selection; readonly ends: Ends },
  { access, limits, settings, now }: DiffDeps,
  signal: AbortSignal,
): Promise<Diff> {
  const [left = [], right = []] = await Promise.all(
    ends.map((cluster) => listInstallations(access, { ...selection, cluster }, signal)),
  );
  const { pairs, errors: unpaired } = pairsOf({ left, right }, ends);
  const components = pairs.flat();
  const { near, wayless } = await findWays(components, { access, limits }, signal);
  const wanted = await renderAll(near, settings, signal);
  const made = new Map(
    [...wanted].flatMap(([uid, one]) => (one instanceof FleetError ? [] : [[uid, one] as const])),
  );
  const sound = near.filter(({ metadata }) => made.has(metadata.uid));
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
  const unread = unreadErrors(new Map([...wayless, ...readings]));
  const errors = [...unpaired, ...refused];
  return diffOf({ components, blocks, unread, errors, sides: ends }, stampAt(now()));
}

interface ComparedSides {
  readonly left: readonly Component[];
  readonly right: readonly Component[];
}

interface Pairs {
  readonly pairs: readonly (readonly [left: Component, right: Component])[];
  readonly errors: readonly ReportError[];
}

/** Pairs of installations of the same kind; the same name where a cluster has several of a kind. */
function pairsOf(sides: ComparedSides, ends: Ends): Pairs {
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

/** The live and the rendered objects of one installation, by identity. */
interface LiveObjects {
  readonly live: ReadonlyMap<string, Manifest>;
  readonly shapes: ReadonlyMap<string, Manifest>;
}

const atOnce = 8;

/** Reads the objects of installations, by uid of the component. An installation in another namespace is compared as if it were in the usual one. */
function readLiveObjects(
  components: readonly Component[],
  made: ReadonlyMap<string, Comparable>,
  settings: RenderSettings,
): ReadOne<readonly (readonly [uid: string, objects: LiveObjects])[]> {
  return async ({ id, client }, signal) => {
    const here = components.filter((component) => clusterIdOf(component) === id);
    return Promise.all(
      here.map(async (component) => {
        const { desired, namespace } = await renderOnCluster(
          component,
          { made, client, settings },
          signal,
        );
        const { objects } = desired;
        const entryOf = entriesIn(namespace, componentKinds[component.kind].label);
        const found = await mapLimited(objects, atOnce, async ({ key, resource }) => {
          const live = await client.get({ ...key, resource }, {}, signal);
          if (live === undefined) return [];
          const { apiVersion, kind } = key;
          return [entryOf({ ...live, apiVersion, kind })];
        });
        const live = new Map(found.flat());
        const shapes = new Map(objects.map(({ manifest }) => entryOf(manifest)));
        return [component.metadata.uid, { live, shapes }] as const;
      }),
    );
  };
}

/** What is rendered for a component in the namespace where its cluster has it. */
async function renderOnCluster(
  component: Component,
  { made, client, settings }: Rendering,
  signal: AbortSignal,
): Promise<Comparable> {
  const expected = made.get(component.metadata.uid);
  if (expected === undefined) throw new Error("Unreachable: left out by the caller");
  const found = await findAnchorNamespaces(component, { client, hubId: undefined }, signal);
  const namespace = await settings.namespaceOf(component, found);
  return comparableIn(namespace, expected, { component, settings });
}

interface Rendering {
  readonly made: ReadonlyMap<string, Comparable>;
  readonly client: KubeClient;
  readonly settings: RenderSettings;
}

function entriesIn(
  namespace: string,
  usual: string,
): (object: Manifest) => readonly [id: string, object: Manifest] {
  const place = (value: unknown): unknown => inUsualPlace(value, namespace, usual);
  return (object) => {
    const { apiVersion, kind, metadata, ...rest } = withoutMarks(neat(object));
    const [fields, placed] = [place(rest), place(metadata)];
    const manifest = {
      ...(isRecord(fields) ? fields : {}),
      apiVersion,
      kind,
      metadata: isRecord(placed) ? placed : metadata,
    };
    return [identityOf(keyOf(manifest)), manifest];
  };
}

/** A value with the usual namespace in place of its own, also in host names inside texts. */
function inUsualPlace(value: unknown, namespace: string, usual: string): unknown {
  if (typeof value === "string") {
    if (value === namespace) return usual;
    return value.split(`.${namespace}`).reduce((text, part) => {
      // `.team` is no part of `.team-b`.
      const isWhole = !/^[\w-]/.test(part);
      return `${text}.${isWhole ? usual : namespace}${part}`;
    });
  }
  if (Array.isArray(value)) {
    return value.map((item: unknown) => inUsualPlace(item, namespace, usual));
  }
  if (!isRecord(value)) return value;
  const fields = Object.entries(value);
  return Object.fromEntries(
    fields.map(([name, one]) => [name, inUsualPlace(one, namespace, usual)]),
  );
}

/** The changes from the objects of one cluster to those of another, in rendered fields. */
export function changesBetween(left: LiveObjects, right: LiveObjects): readonly ObjectChange[] {
  const ids = [...new Set([...left.live.keys(), ...right.live.keys()])].toSorted();
  return ids.flatMap((id) => {
    const shapes = [left, right].flatMap((side) => side.shapes.get(id) ?? []);
    const of = (side: LiveObjects): Manifest | undefined => shaped(side.live.get(id), shapes);
    const change = changeOf({ live: of(left), wanted: of(right) });
    return change === undefined ? [] : [change];
  });
}

function changeOf({ live, wanted }: Sides): ObjectChange | undefined {
  const some = live ?? wanted;
  if (some === undefined || isSameJson(live, wanted)) return undefined;
  // Kubernetes removes a finished Job, so a Job that only one cluster has is no difference.
  if ((live === undefined || wanted === undefined) && isJob(some)) return undefined;
  const missing = live === undefined ? "missing" : "extra";
  const change = live === undefined || wanted === undefined ? missing : "changed";
  return {
    change,
    key: keyOf(some),
    ...maskSecrets({ live, wanted }),
    message: null,
    managers: [],
    pods: null,
  };
}

function shaped(object: Manifest | undefined, shapes: readonly Manifest[]): Manifest | undefined {
  if (object === undefined) return undefined;
  const { apiVersion, kind, metadata } = object;
  const fields = keepShape(object, shapes);
  const own = keepShape(
    metadata,
    shapes.map((shape) => shape.metadata),
  );
  return {
    ...(isRecord(fields) ? fields : {}),
    apiVersion,
    kind,
    metadata: isRecord(own) ? own : metadata,
  };
}
