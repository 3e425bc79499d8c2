import type { Component } from "../api/component.ts";
import { nameFirst } from "../api/kubernetes.ts";
import { saidBy } from "./component-said.ts";
import { clusterKeyOf } from "./removals.ts";

const shownClusters = 3;

/** For which clusters a deleted set waits, and what the component of the first one says; undefined: for none. Those that do not answer come first. Pure. */
export function deletionSentence(children: readonly Component[]): string | undefined {
  const leaving = children
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .toSorted((a, b) => rankOf(a) - rankOf(b) || (clusterKeyOf(a) < clusterKeyOf(b) ? -1 : 1));
  const [first] = leaving;
  if (first === undefined) return undefined;
  const named = nameFirst(leaving.map(clusterKeyOf), shownClusters);
  const { message } = causeOf(first);
  const cause = message === "" ? "" : `. ${clusterKeyOf(first)}: ${message}`;
  return `The set is deleted and waits for ${named}${cause}`;
}

/** Why a component is not gone: its cluster does not answer, or else what it says last. */
function causeOf(child: Component): { readonly message: string } {
  const cluster = saidBy(child, "TargetClusterResolved");
  return isDark(child) ? cluster : saidBy(child, "Ready");
}

function isDark(child: Component): boolean {
  return saidBy(child, "TargetClusterResolved").means === "Unreachable";
}

function rankOf(child: Component): number {
  return isDark(child) ? 0 : 1;
}
