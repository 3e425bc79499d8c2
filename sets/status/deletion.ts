import type { Component } from "../../api/component.ts";
import { targetId } from "../../api/keys.ts";
import { nameFirst } from "../../api/kubernetes.ts";
import { componentCondition } from "../component-condition.ts";

const shownClusters = 3;

/**
 * The clusters for which a deleted set waits, with the message of the component of the first one. Undefined: it waits for none. Clusters that do not
 * answer come first. Pure.
 */
export function deletionSentence(children: readonly Component[]): string | undefined {
  const leaving = children
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .toSorted((a, b) => rankOf(a) - rankOf(b) || (targetId(a) < targetId(b) ? -1 : 1));
  const [first] = leaving;
  if (first === undefined) return undefined;
  const named = nameFirst(leaving.map(targetId), shownClusters);
  const { message } = causeOf(first);
  const cause = message === "" ? "" : `. ${targetId(first)}: ${message}`;
  return `The set is deleted and waits for ${named}${cause}`;
}

/** Why a component still exists: its cluster does not answer, or else the last message of the component. */
function causeOf(child: Component): { readonly message: string } {
  const cluster = componentCondition(child, "TargetClusterResolved");
  return isDark(child) ? cluster : componentCondition(child, "Ready");
}

function isDark(child: Component): boolean {
  return componentCondition(child, "TargetClusterResolved").means === "Unreachable";
}

function rankOf(child: Component): number {
  return isDark(child) ? 0 : 1;
}
