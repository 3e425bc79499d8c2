import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import type { NamespaceOf } from "../../compare/rendering-options.ts";
import { hubViewOf, selectInstallations } from "../../hub/installations.ts";
import { codedReason } from "../../output/names.ts";
import { notFoundErrors, type ReportDocument, reportOf, stampAt } from "../../output/report.ts";
import type { Selection } from "../../selection/selection.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import {
  clusterIdOf,
  mapLimited,
  readEach,
  type ReadLimits,
  type ReadOne,
  unreadErrors,
} from "../../spokes/read-clusters.ts";
import type { Reading } from "../../spokes/spoke-reading.ts";
import { belowSets, setsOf, stampText } from "./set-nodes.ts";
import {
  clusterNode,
  installedNodes,
  readSpokeObjects,
  type SpokeObjects,
  unreadText,
} from "./spoke-nodes.ts";
import { flattened, type TreeNode } from "./tree-node.ts";
import { readWay, type Way, type WayDeps } from "./way-nodes.ts";

interface TreeSummary {
  readonly installations: number;
  readonly clusters: number;
  readonly unread: number;
  /** Nodes that are not well. */
  readonly failed: number;
}

/** One tree an installation; those of one fleet set are below it. */
export type TreeReport = ReportDocument<"Tree", TreeSummary, TreeNode>;

interface TreeDeps {
  readonly access: ClusterAccess;
  /** Called when a component has a clusterProfileRef. */
  readonly way: () => Promise<WayDeps>;
  readonly limits: ReadLimits;
  readonly namespaceOf: NamespaceOf;
  readonly now: () => Date;
}

/** Reads the way of each selected installation from the hub to its pods. Throws only when the hub cannot be read. */
export async function tree(
  selection: Selection,
  { access, way, limits, namespaceOf, now }: TreeDeps,
  signal: AbortSignal,
): Promise<TreeReport> {
  const selected = await selectInstallations(access, selection, signal);
  const components = selected.components.toSorted(
    byText(({ kind, metadata: { namespace, name } }) => `${namespace} ${name} ${kind}`),
  );
  const read: ReadOne<SpokeObjects> = ({ id, client, provider }, deadline) => {
    const own = components.filter((component) => clusterIdOf(component) === id);
    return readSpokeObjects(own, { client, provider, namespaceOf }, deadline);
  };
  const [ways, readings, sets] = await Promise.all([
    readWays(components, { access, way, limits }, signal),
    readEach(components, { access, limits, read }, signal),
    setsOf(components, { access, selection }, signal),
  ]);
  const trees = components.map((component) => {
    const id = clusterIdOf(component);
    const found = { way: ways.get(id), reading: readings.get(id) };
    return [component, treeOf(component, found)] as const;
  });
  const items = belowSets(trees, sets);
  const errors = unreadErrors(readings);
  return reportOf("Tree", stampAt(now()), {
    complete: errors.length === 0,
    summary: {
      installations: components.length,
      clusters: readings.size,
      unread: errors.length,
      failed: items.flatMap(flattened).filter(({ state }) => state === "FAIL").length,
    },
    items,
    errors: [...notFoundErrors(selected.missing), ...errors],
  });
}

/** The ways to the clusters of components, by `clusterIdOf`; after an interruption those that are known. */
async function readWays(
  components: readonly Component[],
  { access, way, limits }: Pick<TreeDeps, "access" | "way" | "limits">,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Way>> {
  const refs = new Map(
    components.flatMap((component) => {
      const ref = component.spec?.clusterProfileRef;
      return ref === undefined ? [] : [[clusterIdOf(component), ref] as const];
    }),
  );
  if (refs.size === 0) return new Map();
  const deps = await way();
  const found = await mapLimited([...refs], limits.concurrency, async ([id, ref]) => {
    const deadline = withTimeout(systemClock, access.hubTimeoutMs, signal);
    const known = await readWay(ref, deps, deadline).catch((error: unknown) => {
      if (deadline.aborted) return undefined;
      throw error;
    });
    return known === undefined ? [] : [[id, known] as const];
  });
  return new Map(found.flat());
}

function treeOf(
  component: Component,
  {
    way,
    reading,
  }: { readonly way: Way | undefined; readonly reading: Reading<SpokeObjects> | undefined },
): TreeNode {
  const root = componentNode(component);
  if (component.spec?.clusterProfileRef === undefined) {
    if (reading?.kind === "read") {
      return { ...root, children: installedNodes(component, reading.facts) };
    }
    const message = reading === undefined ? null : unreadText(reading, { isHub: true });
    return { ...root, state: "UNKNOWN", message };
  }
  return way === undefined ? root : { ...root, children: [wayNode(component, way, reading)] };
}

/** The ClusterProfile with the steps below it, up to the first failed step. */
function wayNode(
  component: Component,
  { profile, exists, provider, secret, server }: Way,
  reading: Reading<SpokeObjects> | undefined,
): TreeNode {
  if (!exists || reading === undefined) return profile;
  if (provider !== null && server === null) return { ...profile, children: [provider] };
  const name = server ?? (reading.kind === "read" ? reading.facts.facts.server : "<unknown>");
  const below = [
    ...(secret === null ? [] : [secret]),
    clusterNode(component, { reading, server: name }),
  ];
  return { ...profile, children: provider === null ? below : [{ ...provider, children: below }] };
}

const states = {
  Ready: "OK",
  InProgress: "WARN",
  NotReady: "FAIL",
  Unknown: "UNKNOWN",
  Outdated: "WARN",
  Deleting: "WARN",
} as const;

function componentNode(component: Component): TreeNode {
  const { kind, metadata, status } = component;
  const { state, reason, code, message } = hubViewOf(component);
  const version = status?.version === undefined ? [] : [status.version];
  const why = [codedReason({ reason, code }), message ?? ""]
    .filter((part) => part !== "")
    .join(": ");
  return {
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    cluster: null,
    state: states[state],
    message: [state, ...version, ...stampText(component), ...(why === "" ? [] : [why])].join(", "),
    children: [],
  };
}
