import { componentId, targetId } from "../api/keys.ts";
import { describe, nameFirst } from "../api/kubernetes.ts";
import type { Decision, SetFacts } from "./facts.ts";

/** Why the last writes for the clusters of a decision did not succeed; undefined: they did. */
export function unwrittenSentence(
  { unwritten, children }: SetFacts,
  { stamps, removals }: Pick<Decision, "stamps" | "removals">,
): string | undefined {
  if (unwritten === undefined || unwritten.size === 0) return undefined;
  const leaving = new Set(Object.values(removals).flat().map(describe));
  const clusters = [
    ...stamps.map(({ cluster }) => cluster),
    ...children.filter((one) => leaving.has(componentId(one))).map(targetId),
  ].filter((cluster) => unwritten.has(cluster));
  const reason = unwritten.get(clusters.at(0) ?? "");
  if (reason === undefined) return undefined;
  return `The hub does not take the component for ${nameFirst(clusters, 3)}: ${reason}`;
}
