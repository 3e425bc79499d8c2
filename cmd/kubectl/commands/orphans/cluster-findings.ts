import type { ClusterProfileRef, Component, ComponentKind } from "../../../../api/component.ts";
import { describe, identityOf, keyOf, type KubeObject } from "../../../../api/kubernetes.ts";
import { targetIdOf } from "../../../../controller/component-identity.ts";
import { inventoryTextOf } from "../../../../installation/anchor-object.ts";
import {
  anchorAnnotations,
  anchorLabels,
  componentUidLabel,
  guardAnnotations,
  guardLabels,
} from "../../../../installation/anchor.ts";
import {
  anchoredNamespaces,
  defaultSpokeNamespace,
  installationNamespace,
  possibleNamespaces,
} from "../../../../installation/installation-namespace.ts";
import { decodeInventory, mayBeGone } from "../../../../installation/inventory.ts";
import { kubectlOn, shellWord, words } from "../../commands.ts";
import { argumentsOf, isStuck, objectOf, type OrphanItem } from "./orphan.ts";
import type { Traces } from "./traces.ts";

/** What is known besides the cluster's own word. */
export interface Known {
  /** Null for the hub itself. */
  readonly cluster: ClusterProfileRef | null;
  /** All names of this cluster: `namespace/name` of ClusterProfiles, "" for the hub. */
  readonly names: ReadonlySet<string>;
  /** Names of clusters that were read, and wholly: those of them that are not in `names` are other clusters. */
  readonly read: ReadonlySet<string>;
  /** All components of the hub. */
  readonly components: readonly Component[];
  /** Undefined when it may not be read: then no anchor is taken for another hub's. */
  readonly hubId: string | undefined;
  readonly nowMs: number;
}

/** What is left over on one cluster. */
export function clusterFindings(traces: Traces, known: Known): readonly OrphanItem[] {
  const held = [...traces.anchors, ...traces.marked].filter(({ metadata }) =>
    isStuck(metadata, known.nowMs),
  );
  return [
    ...traces.anchors.flatMap((anchor) => anchorFinding(anchor, traces, known)),
    ...unanchored(traces, known),
    ...traces.guarded.flatMap((namespace) => guardedFinding(namespace, known)),
    ...held.map((object) => heldFinding(object, known)),
  ];
}

/** Whose an anchor is, as far as it says. */
interface Belonging {
  readonly kind: ComponentKind | null;
  readonly name: string | null;
  readonly uid: string | null;
}

function belongingOf({ metadata }: KubeObject): Belonging {
  const { annotations = {}, labels = {} } = metadata;
  const [, word = ""] =
    /^(knativeserving|knativeeventing)-.+-root-owner$/.exec(metadata.name) ?? [];
  const kinds: readonly ComponentKind[] = ["KnativeServing", "KnativeEventing"];
  return {
    kind: kinds.find((kind) => kind.toLowerCase() === word) ?? null,
    name:
      annotations[anchorAnnotations.componentName] ?? labels[anchorLabels.componentName] ?? null,
    uid: annotations[anchorAnnotations.componentUid] ?? null,
  };
}

function anchorFinding(anchor: KubeObject, traces: Traces, known: Known): readonly OrphanItem[] {
  const belonging = belongingOf(anchor);
  const hub = anchor.metadata.annotations?.[anchorAnnotations.hubId];
  const base = { ...baseOf(anchor, known), component: belonging, objects: countOf(anchor, traces) };
  if (hub !== undefined && known.hubId !== undefined && hub !== known.hubId) {
    const message = `belongs to the hub ${hub.slice(0, 8)}, which is not this one`;
    const next = [`${kubectlOn(known.cluster)} get -o yaml ${argumentsOf(base.object)}`];
    return [{ ...base, finding: "AnotherHub", message, next }];
  }
  const owner = ownerAmong(known, belonging);
  if (owner !== undefined && !isElsewhere(owner, known) && !isHere(owner, known)) {
    return [{ ...base, finding: "Orphan", ...doubtful(owner, base, known) }];
  }
  const problem = problemOf(belonging, owner, known);
  if (problem !== undefined) {
    return [
      { ...base, finding: "Orphan", message: problem, next: removalSteps(anchor, base, known) },
    ];
  }
  if (owner === undefined) return [];
  const components = namesakesOf(known, belonging).filter((one) => isHere(one, known));
  if (!isOldPlace(anchor, owner, { ...traces, components })) return [];
  const message = `${nameOf(owner)} has another anchor in its present namespace`;
  return [{ ...base, finding: "OldNamespace", message, next: removalSteps(anchor, base, known) }];
}

/** The component that an anchor means: by its uid, or where the upstream operator made it by its name. */
function ownerAmong(known: Known, belonging: Belonging): Component | undefined {
  const { uid } = belonging;
  if (uid !== null) return known.components.find(({ metadata }) => metadata.uid === uid);
  const namesakes = namesakesOf(known, belonging);
  return namesakes.find((one) => isHere(one, known)) ?? namesakes[0];
}

function namesakesOf({ components }: Known, { kind, name }: Belonging): readonly Component[] {
  return components.filter((one) => one.kind === kind && one.metadata.name === name);
}

/** Whether a component is for this cluster, by whichever of its names. */
function isHere(component: Component, { names }: Known): boolean {
  return names.has(targetIdOf(component));
}

/** Whether a component is for a cluster that is known to be another one. */
function isElsewhere(component: Component, { names, read }: Known): boolean {
  const target = targetIdOf(component);
  return read.has(target) && !names.has(target);
}

/** Nothing is to be deleted that may be the installation of a component whose cluster was not looked at. */
function doubtful(
  owner: Component,
  { object }: Pick<OrphanItem, "object">,
  known: Known,
): Pick<OrphanItem, "message" | "next"> {
  const target = targetIdOf(owner);
  const place = target === "" ? "the hub" : target;
  return {
    message: `${nameOf(owner)} is for ${place}, which was not read and may be this same cluster`,
    next: [
      "Look at it:",
      `${kubectlOn(known.cluster)} get -o yaml ${argumentsOf(object)}`,
      `Do not delete it before you know that ${place} is another cluster.`,
    ],
  };
}

/** Why no component of the hub accounts for an anchor; undefined when one does. */
function problemOf(
  { kind, name, uid }: Belonging,
  owner: Component | undefined,
  known: Known,
): string | undefined {
  if (owner !== undefined) {
    if (isHere(owner, known)) return undefined;
    const place = targetIdOf(owner) === "" ? "the hub" : targetIdOf(owner);
    return `${nameOf(owner)} is for another cluster now: ${place}`;
  }
  const namesake = known.components.find(
    (one) => one.kind === kind && one.metadata.name === name && isHere(one, known),
  );
  const what = `${kind ?? "component"} ${name ?? ""}`.trim();
  if (namesake !== undefined && uid !== null) {
    return `belongs to an earlier ${what}, which ${nameOf(namesake)} has followed`;
  }
  return `the hub has no ${what} for this cluster${uid === null ? "" : ` (uid ${uid})`}`;
}

/** Upstream's operator 1.24 installs into canonical namespaces, and leaves what it had elsewhere: that is the old one. Spec: cli.md D12. */
function isOldPlace(
  anchor: KubeObject,
  owner: Component,
  {
    anchors,
    components,
  }: { readonly anchors: Traces["anchors"]; readonly components: readonly Component[] },
): boolean {
  const { uid } = owner.metadata;
  const possible = possibleNamespaces(owner);
  const same = anchors.filter((other) => {
    const theirs = belongingOf(other);
    return (
      theirs.kind === owner.kind &&
      // One that says only a name is another component's where this one cannot be.
      (theirs.uid === null
        ? possible.includes(other.metadata.namespace ?? "")
        : theirs.uid === uid) &&
      theirs.name === owner.metadata.name
    );
  });
  const places = same.map((other) => ({
    namespace: other.metadata.namespace ?? "",
    componentUid: belongingOf(other).uid,
  }));
  const found = anchoredNamespaces(places);
  const present = installationNamespace(owner, defaultSpokeNamespace, found);
  const isPresent = ({ metadata }: KubeObject): boolean => metadata.namespace === present;
  // Upstream's say only a name: each of several components of that name may have its own.
  return same.length > components.length && !isPresent(anchor) && same.some(isPresent);
}

function removalSteps(
  { metadata }: KubeObject,
  { object }: Pick<OrphanItem, "object">,
  known: Known,
): readonly string[] {
  const kubectl = kubectlOn(known.cluster);
  const key = argumentsOf(object);
  return [
    "Look at it:",
    `${kubectl} get -o yaml ${key}`,
    "To keep what it owns, create its component again on the hub; knfleet takes over an anchor that says the same name and no uid.",
    // Spec: anchor-guard.md 2.
    "To remove it with all that it owns:",
    `${kubectl} annotate ${key} ${words(`${guardAnnotations.confirmDeletion}=${metadata.uid}`)}`,
    `${kubectl} delete ${key}`,
  ];
}

/** Objects of installations of which neither anchor nor component is there, by the uid that they carry. */
function unanchored({ anchors, marked }: Traces, known: Known): readonly OrphanItem[] {
  const rooted = new Set(anchors.map((anchor) => belongingOf(anchor).uid));
  const here = known.components.filter((one) => !isElsewhere(one, known));
  const lost = marked.filter(({ metadata }) => {
    const uid = metadata.labels?.[componentUidLabel] ?? "";
    return uid !== "" && !rooted.has(uid) && !here.some((one) => one.metadata.uid === uid);
  });
  const groups = Map.groupBy(lost, ({ metadata }) => metadata.labels?.[componentUidLabel] ?? "");
  return [...groups].flatMap(([uid, objects]) => {
    const [first] = objects;
    if (first === undefined) return [];
    const kinds = Map.groupBy(objects, ({ kind }) => kind);
    const counts = [...kinds].map(([kind, all]) => `${all.length} ${kind}`).join(", ");
    const kubectl = kubectlOn(known.cluster);
    const types = [...kinds.keys()].map((kind) => kind.toLowerCase()).join(",");
    const label = `${componentUidLabel}=${shellWord(uid)}`;
    return [
      {
        ...baseOf(first, known),
        finding: "Unanchored" as const,
        component: { kind: null, name: null, uid },
        objects: objects.length,
        message: `${counts} of component ${uid}, which is not on the hub and has no anchor here`,
        next: [
          "Look at them:",
          `${kubectl} get ${types} -A -l ${label}`,
          "To remove them:",
          `${kubectl} delete ${types} -A -l ${label}`,
        ],
      },
    ];
  });
}

function guardedFinding(namespace: KubeObject, known: Known): readonly OrphanItem[] {
  const { labels = {}, annotations = {}, name } = namespace.metadata;
  const uid = annotations[anchorAnnotations.componentUid];
  if (known.hubId === undefined || labels[guardLabels.namespace] !== known.hubId) return [];
  const isUsed = known.components.some(
    (one) =>
      !isElsewhere(one, known) &&
      (one.metadata.uid === uid || possibleNamespaces(one).includes(name)),
  );
  if (isUsed) return [];
  return [
    {
      ...baseOf(namespace, known),
      finding: "GuardedNamespace",
      component: { kind: null, name: null, uid: uid ?? null },
      objects: 0,
      message: "still guarded, though the hub has no component that is installed there",
      next: [
        "Let it go:",
        `${kubectlOn(known.cluster)} ${words("label", "namespace", name, `${guardLabels.namespace}-`)}`,
      ],
    },
  ];
}

function heldFinding(object: KubeObject, known: Known): OrphanItem {
  const { deletionTimestamp = "", finalizers = [] } = object.metadata;
  const base = baseOf(object, known);
  return {
    ...base,
    finding: "StuckDeletion",
    component: null,
    objects: 0,
    message: `deleted at ${deletionTimestamp}, held by ${finalizers.join(", ")}`,
    next: [
      "Find out who has to act:",
      `${kubectlOn(known.cluster)} get -o yaml ${argumentsOf(base.object)}`,
      "Take a finalizer out by hand only when its controller is gone for good.",
    ],
  };
}

function baseOf(object: KubeObject, { cluster }: Known): Pick<OrphanItem, "cluster" | "object"> {
  return { cluster, object: objectOf(keyOf(object)) };
}

function countOf(anchor: KubeObject, { marked, denied }: Traces): number {
  const entries = decodeInventory(inventoryTextOf(anchor))?.entries;
  if (entries !== undefined) {
    const seen = new Set(marked.map((object) => identityOf(keyOf(object))));
    const isUnseen = (id: string): boolean => !denied.includes("jobs") && !seen.has(id);
    return entries.filter((one) => !mayBeGone(one) || !isUnseen(identityOf(one))).length;
  }
  const uid = anchor.metadata.annotations?.[anchorAnnotations.componentUid];
  return marked.filter(({ metadata }) => metadata.labels?.[componentUidLabel] === uid).length;
}

function nameOf({ kind, metadata: { namespace, name } }: Component): string {
  return describe({ kind, namespace, name });
}
