import { componentKeyOf } from "../api/component.ts";
import { describe, nameFirst } from "../api/kubernetes.ts";
import type { Decision, SetFacts } from "./facts.ts";
import { clusterKeyOf } from "./removals.ts";

/** Why the last writes for the clusters of a decision did not succeed; undefined: they did. */
export function unwrittenSentence(
  { unwritten, children }: SetFacts,
  { stamps, removals }: Pick<Decision, "stamps" | "removals">,
): string | undefined {
  if (unwritten === undefined || unwritten.size === 0) return undefined;
  const leaving = new Set(Object.values(removals).flat().map(describe));
  const clusters = [
    ...stamps.map(({ cluster }) => cluster),
    ...children.filter((one) => leaving.has(describe(componentKeyOf(one)))).map(clusterKeyOf),
  ].filter((cluster) => unwritten.has(cluster));
  const reason = unwritten.get(clusters.at(0) ?? "");
  if (reason === undefined) return undefined;
  return `The hub does not take the component for ${nameFirst(clusters, 3)}: ${reason}`;
}
