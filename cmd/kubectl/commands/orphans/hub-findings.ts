import { type Component, componentKinds } from "../../../../api/component.ts";
import { componentId } from "../../../../api/keys.ts";
import { olderDuplicateOf } from "../../../../controller/reconcile/claims.ts";
import { upstreamWayOut } from "../../findings/words/causes.ts";
import { shortNameOf } from "../../output/names.ts";
import { oneOfTwo, words } from "../../output/steps.ts";
import { isStuck, objectOf, type OrphanItem } from "./orphan.ts";

/** Findings that need only the hub: two components on one cluster, and deletions that hang. */
export function hubFindings(
  components: readonly Component[],
  nowMs: number,
): readonly OrphanItem[] {
  return components.flatMap((component) => [
    ...collisionOf(component, components),
    ...(isStuck(component.metadata, nowMs) ? [stuckDeletion(component)] : []),
  ]);
}

function collisionOf(component: Component, all: readonly Component[]): readonly OrphanItem[] {
  const older = olderDuplicateOf(component, all);
  if (older === undefined) return [];
  const other = componentId(older);
  const message = `${other} is for the same cluster (${placeOf(component)}) and older`;
  return [collision(component, older, message)];
}

/** The finding about a component that cannot be installed, because `rival` is installed on the same cluster through another ClusterProfile. */
export function installedCollision(component: Component, rival: Component): OrphanItem {
  const other = componentId(rival);
  const places = `${placeOf(component)} is also ${placeOf(rival)}`;
  return collision(component, rival, `${other} is installed on the same cluster (${places})`);
}

function collision(component: Component, other: Component, message: string): OrphanItem {
  return {
    ...about(component),
    finding: "Collision",
    objects: 0,
    message,
    next: oneOfTwo(component, other),
  };
}

function stuckDeletion(component: Component): OrphanItem {
  const { kind } = component;
  const { finalizers = [], deletionTimestamp = "", name, namespace, uid } = component.metadata;
  const said = (component.status?.conditions ?? []).find(
    ({ status, message = "" }) => status !== "True" && message !== "",
  );
  const why =
    said === undefined ? "" : `; ${said.type}: ${said.reason ?? ""}: ${said.message ?? ""}`;
  const key = [componentKinds[kind].plural, name, "-n", namespace];
  return {
    ...about(component),
    finding: "StuckDeletion",
    objects: 0,
    message: `deleted at ${deletionTimestamp}, held by ${finalizers.join(", ")}${why}`,
    next: [
      words("kubectl", "knfleet", "diagnose", shortNameOf({ kind, name }), "-n", namespace),
      upstreamWayOut,
      "Or give the cluster up, which leaves everything on it:",
      words("kubectl", "annotate", ...key, `knfleet.dev/force-orphan=${uid}`),
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
