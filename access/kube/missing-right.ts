import { groupOf } from "../../api/kubernetes.ts";
import type { ResourceType } from "../../api/resources.ts";

/** One verb on one resource. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** With the subresource: `pods/log`. */
  readonly resource: string;
  /** Absent: in every namespace. */
  readonly namespace?: string;
  /** Absent: on the objects of every name. */
  readonly name?: string;
}

/** A right on the objects of a resource. Without a namespace: in the whole cluster. */
export function rightTo(
  verb: string,
  { apiVersion, plural }: Pick<ResourceType, "apiVersion" | "plural">,
  namespace?: string,
): Right {
  const right = { group: groupOf(apiVersion), resource: plural, verb };
  return namespace === undefined ? right : { ...right, namespace };
}

/** A right in words, without the name of an object: `create deployments.apps in namespace a`. All messages name rights in these words. */
export function rightText({ verb, group, resource, namespace }: Right): string {
  const suffix = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return `${verb} ${resource}${group === "" ? "" : `.${group}`}${suffix}`;
}

/** Rights in words: the verbs on a kind in one text. */
export function rightTexts(rights: readonly Right[]): readonly string[] {
  const byPlace = Map.groupBy(rights, (right) => rightText({ ...right, verb: "" }));
  return [...byPlace.values()].flatMap((all) => {
    const verbs = new Set(all.map(({ verb }) => verb));
    return all.slice(0, 1).map((right) => rightText({ ...right, verb: [...verbs].join(" and ") }));
  });
}

const name = "[\\w.-]{1,100}";
const refused = new RegExp(
  `cannot (?<verb>[a-z]{1,30}) resource "(?<resource>[\\w./-]{1,100})" in API group "(?<group>[\\w.-]{0,100})"` +
    `(?: in the namespace "(?<namespace>${name})")?`,
);

/** The right that a 403 says is missing; undefined when its message names none. */
export function deniedRightIn(message: string): Right | undefined {
  const { verb, resource, group = "", namespace } = refused.exec(message)?.groups ?? {};
  if (verb === undefined || resource === undefined) return undefined;
  const right = { verb, group, resource };
  return namespace === undefined ? right : { ...right, namespace };
}

/** The same in words, as `the right to create deployments.apps in namespace a`. */
export function missingRightIn(message: string): string | undefined {
  const right = deniedRightIn(message);
  return right === undefined ? undefined : `the right to ${rightText(right)}`;
}

/** The right in words that an answer of 403 says is missing; undefined for every other answer. */
export function missingRightOf({
  status,
  message,
}: Readonly<Record<"message", string> & Record<"status", number>>): string | undefined {
  return status === 403 ? missingRightIn(message) : undefined;
}
