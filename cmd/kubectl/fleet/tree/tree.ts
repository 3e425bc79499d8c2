import type { Component } from "../../../../api/component.ts";
import { byText } from "../../../../api/fields.ts";
import { fleetSetKinds } from "../../../../api/fleet-set.ts";
import { nameId, targetId } from "../../../../api/keys.ts";
import type { SpokeNamespaceMode } from "../../../../installation/installation-namespace.ts";
import { rulesOfHub } from "../../compare/controller-rules.ts";
import { namespaceOfHub } from "../../compare/rendering-options.ts";
import { hubViewOf } from "../../hub/installations.ts";
import type { Report } from "../../main/report.ts";
import { codedReason } from "../../output/names.ts";
import { stepLine, words } from "../../output/steps.ts";
import { mapLimited, targetsOf } from "../../spokes/read-clusters.ts";
import type { Reading } from "../../spokes/spoke-reading.ts";
import type { Fleet } from "../fleet.ts";
import { openWayDeps } from "./open-way.ts";
import { belowSets, setsOf, stampText } from "./set-nodes.ts";
import {
  clusterNode,
  installedNodes,
  readSpokeObjects,
  type SpokeObjects,
  unreadText,
} from "./spoke-nodes.ts";
import { collapsed, dotOf, flattened, mermaidOf, type TreeNode, treeText } from "./tree-node.ts";
import { readWay, type Way, type WayDeps } from "./way-nodes.ts";

/** Flags of `tree`. */
interface TreeFlags {
  /** Healthy Deployments and pods one by one, also in the text. */
  readonly all: boolean;
  readonly spokeNamespace: SpokeNamespaceMode | undefined;
}

/** The way of each selected installation from the hub to its pods; those of one fleet set are below it. Throws only when the hub cannot be read. */
export async function readTrees(
  fleet: Fleet,
  { all, spokeNamespace }: TreeFlags,
): Promise<Report<TreeNode>> {
  const [access, selection] = [await fleet.access(), await fleet.selection()];
  const way = await openWayDeps(access, fleet, fleet.signal);
  const selected = await fleet.installations();
  const namespaceOf = namespaceOfHub({ spokeNamespace }, rulesOfHub(access, fleet.signal));
  const components = selected.components.toSorted(
    byText(({ kind, metadata: { namespace, name } }) => `${namespace} ${name} ${kind}`),
  );
  const [ways, read, sets] = await Promise.all([
    readWays(components, fleet, way),
    fleet.read(targetsOf(components), ({ id, client, provider }, deadline) => {
      const own = components.filter((component) => targetId(component) === id);
      return readSpokeObjects(own, { client, provider, namespaceOf }, deadline);
    }),
    setsOf(components, { access, selection }, fleet.signal),
  ]);
  const trees = components.map((component) => {
    const id = targetId(component);
    const found = { way: ways.get(id), reading: read.readings.get(id) };
    return [component, treeOf(component, found)] as const;
  });
  const items = belowSets(trees, sets);
  const shown = all ? items : items.map(collapsed);
  const errors = [...selected.missing, ...read.unread];
  const installations = items.flatMap((item) =>
    item.kind in fleetSetKinds ? item.children : item,
  );
  const worst = installations.find(hasFailed);
  return {
    items,
    summary: {
      installations: components.length,
      ...read.counts,
      // Nodes that are not well.
      failed: items.flatMap(flattened).filter(({ state }) => state === "FAIL").length,
    },
    errors,
    heading: ({ paint, width }) => treeText(shown, { paint, width }),
    formats: { dot: () => dotOf(shown), mermaid: () => mermaidOf(shown) },
    notes: () => (items.length + errors.length === 0 ? ["No Knative installations found."] : []),
    advises: false,
    next: () =>
      worst === undefined ? [] : [stepLine(`${fleet.commands.knfleet} ${diagnosisOf(worst)}`)],
  };
}

function hasFailed({ state, children }: TreeNode): boolean {
  return state === "FAIL" || children.some(hasFailed);
}

function diagnosisOf({ kind, namespace, name }: TreeNode): string {
  const type = kind === "KnativeServing" ? "ks" : "ke";
  return words("diagnose", `${type}/${name}`, "-n", namespace ?? "");
}

/** The ways to the clusters of components, by `targetId`; after an interruption those that are known. */
async function readWays(
  components: readonly Component[],
  fleet: Fleet,
  way: () => Promise<WayDeps>,
): Promise<ReadonlyMap<string, Way>> {
  const refs = targetsOf(components).flatMap(({ ref }) => ref ?? []);
  if (refs.length === 0) return new Map();
  const deps = await way();
  const found = await mapLimited(refs, fleet.limits().concurrency, async (ref) => {
    const known = await fleet.askHub((_, deadline) =>
      readWay(ref, deps, deadline).catch((error: unknown) => {
        if (deadline.aborted) return undefined;
        throw error;
      }),
    );
    return known === undefined ? [] : [[nameId(ref), known] as const];
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
