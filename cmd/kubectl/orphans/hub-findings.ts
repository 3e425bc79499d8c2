import { componentKinds, type Component } from "../../../api/component.ts";
import { describe } from "../../../api/kubernetes.ts";
import { olderTwinOf } from "../../../controller/duplicate.ts";
import { upstreamWayOut } from "../explain/upstream-notes.ts";
import { isStuck, objectOf, type Commands, type OrphanItem } from "./orphan.ts";
import { shortKinds } from "./short-kinds.ts";

/** What the components on the hub tell by themselves: two on one cluster, and deletions that hang. */
export function hubFindings(
  components: readonly Component[],
  commands: Commands,
  nowMs: number,
): readonly OrphanItem[] {
  return components.flatMap((component) => [
    ...collisionOf(component, components, commands),
    ...(isStuck(component.metadata, nowMs) ? [stuckDeletion(component, commands)] : []),
  ]);
}

function collisionOf(
  component: Component,
  all: readonly Component[],
  { kubectl }: Commands,
): readonly OrphanItem[] {
  const older = olderTwinOf(component, all);
  if (older === undefined) return [];
  const { kind, metadata } = older;
  const other = describe({ kind, namespace: metadata.namespace, name: metadata.name });
  const { plural } = componentKinds[component.kind];
  const own = component.metadata;
  return [
    {
      ...about(component),
      finding: "Collision",
      objects: 0,
      message: `${other} is for the same cluster (${placeOf(component)}) and older`,
      next: [
        `delete the one that is not meant: ${kubectl} delete ${plural} ${own.name} -n ${own.namespace}`,
        `or: ${kubectl} delete ${plural} ${metadata.name} -n ${metadata.namespace}`,
      ],
    },
  ];
}

function stuckDeletion(component: Component, { kubectl, knfleet }: Commands): OrphanItem {
  const { finalizers = [], deletionTimestamp = "", name, namespace, uid } = component.metadata;
  const said = (component.status?.conditions ?? []).find(
    ({ status, message = "" }) => status !== "True" && message !== "",
  );
  const why =
    said === undefined ? "" : `; ${said.type}: ${said.reason ?? ""}: ${said.message ?? ""}`;
  const key = `${componentKinds[component.kind].plural} ${name} -n ${namespace}`;
  return {
    ...about(component),
    finding: "StuckDeletion",
    objects: 0,
    message: `deleted at ${deletionTimestamp}, held by ${finalizers.join(", ")}${why}`,
    next: [
      `${knfleet} diagnose ${shortKinds[component.kind]}/${name} -n ${namespace}`,
      upstreamWayOut,
      `or give the cluster up, which leaves everything on it: ${kubectl} annotate ${key} knfleet.dev/force-orphan=${uid}`,
    ],
  };
}

function placeOf({ spec }: Component): string {
  const ref = spec?.clusterProfileRef;
  return ref === undefined ? "the hub" : `${ref.namespace}/${ref.name}`;
}

function about({
  apiVersion,
  kind,
  metadata,
}: Component): Pick<OrphanItem, "cluster" | "object" | "component"> {
  const { namespace, name, uid } = metadata;
  return {
    cluster: null,
    object: objectOf({ apiVersion, kind, namespace, name }),
    component: { kind, name, uid },
  };
}
