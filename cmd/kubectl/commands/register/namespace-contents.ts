import type { KubeObject } from "../../../../api/kubernetes.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import { readServed, type ServedKind } from "../get/object-table.ts";
import { limitOf, type Target } from "./write-object.ts";

/** What is in a namespace. */
export interface NamespaceContents {
  /** Metadata of the objects of all kinds that can be listed. */
  readonly objects: readonly KubeObject[];
  /** The kinds that could not be listed. */
  readonly unread: readonly string[];
}

const listsAtOnce = 16;

/** Lists the objects of all namespaced kinds that a cluster serves. Throws what KubeClient throws when the kinds are not known. */
export async function readContents(namespace: string, target: Target): Promise<NamespaceContents> {
  const { client } = target;
  const { kinds, stale } = await readServed(client, limitOf(target));
  const namespaced = kinds.filter((kind) => kind.namespaced && !isPassing(kind));
  const lists = await mapLimited(namespaced, listsAtOnce, async (resource) => {
    try {
      const options = { metadataOnly: true };
      const { items } = await client.list({ resource, namespace }, options, limitOf(target));
      const { apiVersion, kind } = resource;
      return items.map((item) => ({ ...item, apiVersion, kind }));
    } catch {
      target.signal?.throwIfAborted();
      return `${resource.plural}${resource.group === "" ? "" : `.${resource.group}`}`;
    }
  });
  const objects = lists.flatMap((list) => (typeof list === "string" ? [] : list));
  return {
    // Some kinds are served by two groups.
    objects: [...new Map(objects.map((object) => [object.metadata.uid, object])).values()],
    unread: [...stale, ...lists.filter((list) => typeof list === "string")],
  };
}

/** Whether objects of a kind only tell of others: nobody misses them. */
function isPassing({ group, kind }: ServedKind): boolean {
  return kind === "Event" || group === "metrics.k8s.io";
}

/** What is in a namespace besides the objects that go: what others would lose with it. */
export function othersIn(
  { objects, unread }: NamespaceContents,
  going: readonly KubeObject[],
): NamespaceContents {
  const gone = new Set(going.map(({ metadata }) => metadata.uid));
  const stays = objects.filter((object) => !gone.has(object.metadata.uid) && !isUsual(object));
  return { objects: stays, unread };
}

/** Whether every namespace has the object. */
function isUsual({ kind, metadata: { name } }: KubeObject): boolean {
  return (
    (kind === "ServiceAccount" && name === "default") ||
    (kind === "ConfigMap" && name === "kube-root-ca.crt")
  );
}

const shownNames = 3;

/** Why a namespace stays: the kinds in it with some names, and the kinds that could not be listed. Undefined: it is empty. */
export function whyItStays(
  namespace: string,
  { objects, unread }: NamespaceContents,
): string | undefined {
  if (objects.length === 0 && unread.length === 0) return undefined;
  const kinds = [...Map.groupBy(objects, ({ kind }) => kind)].map(([kind, all]) => {
    const names = all.slice(0, shownNames).map(({ metadata }) => metadata.name);
    const rest = all.length - names.length;
    return `${kind} ${names.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  });
  const reasons = [
    ...(kinds.length === 0 ? [] : [`it holds ${kinds.toSorted().join("; ")}`]),
    ...(unread.length === 0 ? [] : [`could not list ${unread.join(", ")}`]),
  ];
  return `Namespace ${namespace} of the cluster stays: ${reasons.join("; ")}`;
}
