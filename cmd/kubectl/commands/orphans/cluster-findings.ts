import { targetId } from "../../../../api/keys.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { areRivals } from "../../../../controller/reconcile/claims.ts";
import { installedRival } from "../../../../controller/reconcile/installed-rival.ts";
import {
  anchorAnnotations,
  componentUidLabel,
  guardLabels,
} from "../../../../installation/anchor.ts";
import { possibleNamespaces } from "../../../../installation/installation-namespace.ts";
import { kubectlOn, shellWord, words } from "../../output/steps.ts";
import { anchorFinding, baseOf, belongingOf } from "./anchor-findings.ts";
import { installedCollision } from "./hub-findings.ts";
import {
  argumentsOf,
  isElsewhere,
  isStuck,
  type Known,
  type OrphanItem,
  type Traces,
} from "./orphan.ts";

/** Leftovers on one cluster. */
export function clusterFindings(traces: Traces, known: Known): readonly OrphanItem[] {
  const held = [...traces.anchors, ...traces.marked].filter(({ metadata }) =>
    isStuck(metadata, known.nowMs),
  );
  return [
    ...traces.anchors.flatMap((anchor) => anchorFinding(anchor, traces, known)),
    ...collisions(traces, known),
    ...unanchored(traces, known),
    ...traces.guarded.flatMap((namespace) => guardedFinding(namespace, known)),
    ...held.map((object) => heldFinding(object, known)),
  ];
}

/** Components of the cluster that cannot be installed, because another component is installed there. */
function collisions({ anchors }: Traces, { components, names }: Known): readonly OrphanItem[] {
  return components.flatMap((component) => {
    if (!names.has(targetId(component))) return [];
    const rival = installedRival(component, anchors, components);
    // The hub's findings name two components with one ClusterProfile.
    if (rival === undefined || areRivals(component, rival)) return [];
    return [installedCollision(component, rival)];
  });
}

/** Marked objects of which neither the anchor nor the component exists, by the uid in their label. */
function unanchored({ anchors, marked }: Traces, known: Known): readonly OrphanItem[] {
  const anchoredUids = new Set(anchors.map((anchor) => belongingOf(anchor).uid));
  const here = known.components.filter((one) => !isElsewhere(one, known));
  const lost = marked.filter(({ metadata }) => {
    const uid = metadata.labels?.[componentUidLabel] ?? "";
    return uid !== "" && !anchoredUids.has(uid) && !here.some((one) => one.metadata.uid === uid);
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
