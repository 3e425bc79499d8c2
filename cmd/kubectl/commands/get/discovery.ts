import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { isRecord } from "../../../../api/fields.ts";
import type { ResourceType } from "../../../../api/resources.ts";
import { itemsAt, stringAt } from "../../selection/fields.ts";

/** A kind that a cluster serves, with the words that mean it. */
export interface ServedKind extends ResourceType {
  readonly group: string;
  /** Plural, singular, short names and the kind itself, in lower case. */
  readonly words: readonly string[];
  readonly categories: readonly string[];
}

const accept =
  "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList,application/json";

/** The kinds that a cluster serves and can list, each in its preferred version, in two requests. Throws what KubeClient throws. */
export async function servedKinds(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<readonly ServedKind[]> {
  const lists = await Promise.all(
    ["/api", "/apis"].map((path) => client.request("GET", path, undefined, signal, { accept })),
  );
  const kinds = lists.flatMap((list) => itemsAt(list, "items").flatMap(kindsOfGroup));
  return kinds.filter(({ group, plural }, at) => {
    // The first version that has a kind is the preferred one.
    return kinds.findIndex((one) => one.group === group && one.plural === plural) === at;
  });
}

function kindsOfGroup(group: unknown): readonly ServedKind[] {
  const name = stringAt(group, "metadata", "name") ?? "";
  return itemsAt(group, "versions").flatMap((version) => {
    const number = stringAt(version, "version") ?? "";
    const apiVersion = name === "" ? number : `${name}/${number}`;
    return itemsAt(version, "resources").flatMap((resource) =>
      kindOf(resource, { group: name, apiVersion }),
    );
  });
}

function kindOf(
  resource: unknown,
  { group, apiVersion }: { readonly group: string; readonly apiVersion: string },
): readonly ServedKind[] {
  const plural = stringAt(resource, "resource");
  const kind = stringAt(resource, "responseKind", "kind");
  if (plural === null || kind === null || !textsAt(resource, "verbs").includes("list")) return [];
  const singular = stringAt(resource, "singularResource") ?? "";
  const words = [plural, singular, ...textsAt(resource, "shortNames"), kind.toLowerCase()];
  return [
    {
      apiVersion,
      group,
      kind,
      plural,
      namespaced: stringAt(resource, "scope") === "Namespaced",
      words: words.filter((word) => word !== ""),
      categories: textsAt(resource, "categories"),
    },
  ];
}

function textsAt(value: unknown, field: string): readonly string[] {
  const list = isRecord(value) ? value[field] : undefined;
  return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
}

/** The kinds that a word means, as for kubectl: a name with or without its group, or a category; none when nothing is meant. */
export function kindsNamed(word: string, served: readonly ServedKind[]): readonly ServedKind[] {
  const [name = "", ...group] = word.toLowerCase().split(".");
  const named = served.filter((one) => one.words.includes(name));
  const wanted = group.join(".");
  const inGroup = named.find((one) => one.group === wanted || isVersioned(one, wanted));
  if (wanted !== "") return inGroup === undefined ? [] : [inGroup];
  const [first] = named;
  return first === undefined ? served.filter((one) => one.categories.includes(name)) : [first];
}

/** `deployments.v1.apps`. */
function isVersioned({ group, apiVersion }: ServedKind, wanted: string): boolean {
  return wanted === `${apiVersion.split("/").at(-1) ?? ""}.${group}`;
}
