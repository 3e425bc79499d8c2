import { allKinds, type Component, type ComponentKind } from "../../../../api/component.ts";
import { pulledAnnotations } from "../../../../api/delivery.ts";
import { componentId, objectId, targetId } from "../../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../../api/kubernetes.ts";
import { inventoryTextOf } from "../../../../installation/anchor-object.ts";
import {
  anchorAnnotations,
  anchorLabels,
  componentUidLabel,
  guardAnnotations,
} from "../../../../installation/anchor.ts";
import {
  anchoredNamespaces,
  defaultSpokeNamespace,
  installationNamespace,
  possibleNamespaces,
} from "../../../../installation/installation-namespace.ts";
import { decodeInventory, mayBeGone } from "../../../../installation/inventory.ts";
import { kubectlOn, words } from "../../output/steps.ts";
import {
  argumentsOf,
  isElsewhere,
  type Known,
  objectOf,
  type OrphanItem,
  type Traces,
} from "./orphan.ts";

export function anchorFinding(
  anchor: KubeObject,
  traces: Traces,
  known: Known,
): readonly OrphanItem[] {
  if (isPulled(anchor, known)) return [];
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
  const message = `${componentId(owner)} has another anchor in its present namespace`;
  return [{ ...base, finding: "OldNamespace", message, next: removalSteps(anchor, base, known) }];
}

/** Whether the controller of the spoke manages the installation for a component of this hub. */
function isPulled({ metadata }: KubeObject, { components, hubId }: Known): boolean {
  const { [pulledAnnotations.hubId]: hub, [pulledAnnotations.hubComponentUid]: uid } =
    metadata.annotations ?? {};
  const isThisHub = hubId === undefined || hub === hubId;
  return uid !== undefined && isThisHub && components.some((one) => one.metadata.uid === uid);
}

/** The component of an anchor: by uid, or by name for an anchor of the upstream operator. */
function ownerAmong(known: Known, belonging: Belonging): Component | undefined {
  const { uid } = belonging;
  if (uid !== null) return known.components.find(({ metadata }) => metadata.uid === uid);
  const namesakes = namesakesOf(known, belonging);
  return namesakes.find((one) => isHere(one, known)) ?? namesakes[0];
}

function namesakesOf({ components }: Known, { kind, name }: Belonging): readonly Component[] {
  return components.filter((one) => one.kind === kind && one.metadata.name === name);
}

/** Whether a component is for this cluster, under any of its names. */
function isHere(component: Component, { names }: Known): boolean {
  return names.has(targetId(component));
}

/** Message and steps without a deletion, because the anchor may belong to a component whose cluster was not read. */
function doubtful(
  owner: Component,
  { object }: Pick<OrphanItem, "object">,
  known: Known,
): Pick<OrphanItem, "message" | "next"> {
  const target = targetId(owner);
  const place = target === "" ? "the hub" : target;
  return {
    message: `${componentId(owner)} is for ${place}, which was not read and may be this same cluster`,
    next: [
      "Look at it:",
      `${kubectlOn(known.cluster)} get -o yaml ${argumentsOf(object)}`,
      `Do not delete it before you know that ${place} is another cluster.`,
    ],
  };
}

/** Why an anchor belongs to no component of the hub; undefined when it belongs to one. */
function problemOf(
  { kind, name, uid }: Belonging,
  owner: Component | undefined,
  known: Known,
): string | undefined {
  if (owner !== undefined) {
    if (isHere(owner, known)) return undefined;
    const place = targetId(owner) === "" ? "the hub" : targetId(owner);
    return `${componentId(owner)} is for another cluster now: ${place}`;
  }
  const namesake = known.components.find(
    (one) => one.kind === kind && one.metadata.name === name && isHere(one, known),
  );
  const what = `${kind ?? "component"} ${name ?? ""}`.trim();
  if (namesake !== undefined && uid !== null) {
    return `belongs to an earlier ${what}, which ${componentId(namesake)} has followed`;
  }
  return `the hub has no ${what} for this cluster${uid === null ? "" : ` (uid ${uid})`}`;
}

/** Whether an anchor is in an old namespace: the upstream operator 1.24 installs into canonical namespaces and leaves the old installation. Spec: cli.md D12. */
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
      // An anchor with a name and no uid belongs to this component only in a namespace where it can be installed.
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
  // An anchor of the upstream operator has a name only, so each component of that name may have an anchor of its own.
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

/** The component that an anchor names. */
interface Belonging {
  readonly kind: ComponentKind | null;
  readonly name: string | null;
  readonly uid: string | null;
}

export function belongingOf({ metadata }: KubeObject): Belonging {
  const { annotations = {}, labels = {} } = metadata;
  const [, word = ""] =
    /^(knativeserving|knativeeventing)-.+-root-owner$/.exec(metadata.name) ?? [];
  return {
    kind: allKinds.find((kind) => kind.toLowerCase() === word) ?? null,
    name:
      annotations[anchorAnnotations.componentName] ?? labels[anchorLabels.componentName] ?? null,
    uid: annotations[anchorAnnotations.componentUid] ?? null,
  };
}

function countOf(anchor: KubeObject, { marked, denied }: Traces): number {
  const entries = decodeInventory(inventoryTextOf(anchor))?.entries;
  if (entries !== undefined) {
    const seen = new Set(marked.map((object) => objectId(keyOf(object))));
    const isUnseen = (id: string): boolean => !denied.includes("jobs") && !seen.has(id);
    return entries.filter((one) => !mayBeGone(one) || !isUnseen(objectId(one))).length;
  }
  const uid = anchor.metadata.annotations?.[anchorAnnotations.componentUid];
  return marked.filter(({ metadata }) => metadata.labels?.[componentUidLabel] === uid).length;
}

export function baseOf(
  object: KubeObject,
  { cluster }: Known,
): Pick<OrphanItem, "cluster" | "object"> {
  return { cluster, object: objectOf(keyOf(object)) };
}
