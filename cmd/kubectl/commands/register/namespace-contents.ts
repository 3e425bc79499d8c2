import type { KubeObject } from "../../../../api/kubernetes.ts";
import { words } from "../../output/steps.ts";
import { readServed } from "../../spokes/object-table.ts";
import { mapLimited } from "../../spokes/read-clusters.ts";
import { limitOf, type Target } from "./write-object.ts";

/** What is in a namespace. */
export interface NamespaceContents {
  /** Metadata of the objects of all kinds that can be listed. */
  readonly objects: readonly KubeObject[];
  /** The kinds that could not be listed; those of an API that does not answer with the command that says why. */
  readonly unread: readonly string[];
}

interface ReadContents extends NamespaceContents {
  /** The group versions of views that do not answer. Kubernetes deletes the namespace when they do. */
  readonly silentViews: readonly string[];
}

const listsAtOnce = 16;

/** Lists the objects of all namespaced kinds that a cluster serves. Throws what KubeClient throws when the kinds are not known. */
export async function readContents(namespace: string, target: Target): Promise<ReadContents> {
  const { client } = target;
  const { kinds, views, stale } = await readServed(client, limitOf(target));
  // Events and views only tell of other objects: nobody misses them.
  const kept = kinds.filter((one) => one.namespaced && one.kind !== "Event" && !views.has(one));
  const lists = await mapLimited(kept, listsAtOnce, async (resource) => {
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
    unread: [
      ...stale.filter((one) => !isSilentView(one)).map(unreadText),
      ...lists.filter((list) => typeof list === "string"),
    ],
    silentViews: stale.filter(isSilentView),
  };
}

const viewGroups = ["metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"];

/** While the server of a group does not answer, only its name tells that it has views alone. */
function isSilentView(groupVersion: string): boolean {
  return viewGroups.some((group) => groupVersion.startsWith(`${group}/`));
}

/** A group version whose server does not answer, or a path of discovery, which is as it is. */
function unreadText(stale: string): string {
  if (stale.startsWith("/")) return stale;
  return `${stale} (to see why: ${apiServiceCommand(stale)})`;
}

/** The command that shows why an API does not answer. */
export function apiServiceCommand(groupVersion: string): string {
  const [group = "", version = ""] = groupVersion.split("/");
  return words("kubectl", "get", "apiservice", `${version}.${group}`);
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
