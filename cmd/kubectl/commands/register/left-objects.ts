import type { Manifest } from "../../../../api/kubernetes.ts";
import type { Talk } from "../../main/talk.ts";
import { words } from "../../output/steps.ts";

/** Objects that a command has left on the cluster and on the hub, in the order in which they are to be deleted. */
export interface LeftObjects {
  readonly spoke: readonly Manifest[];
  readonly hub: readonly Manifest[];
}

/** Says what a command that failed has left, with the commands that delete it. `titleOf`: the sentence before them for "the cluster" or "the hub". */
export function tellLeft(
  left: LeftObjects,
  titleOf: (place: string) => string,
  /** Kubeconfig context and file of the two. */
  ways: Readonly<Record<keyof LeftObjects, { context: string; kubeconfig: string | undefined }>>,
  talk: Talk,
): void {
  for (const [where, place] of [
    ["hub", "the hub"],
    ["spoke", "the cluster"],
  ] as const) {
    if (left[where].length === 0) continue;
    const { context, kubeconfig } = ways[where];
    const file = kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig];
    talk.warn(
      `warning: ${titleOf(place)}`,
      ...left[where].map((object) => deleteCommand(object, ["--context", context, ...file])),
    );
  }
}

function deleteCommand(
  { kind, metadata: { namespace, name = "" } }: Manifest,
  options: readonly string[],
): string {
  const place = namespace === undefined ? [] : ["-n", namespace];
  const line = words("kubectl", ...options, "delete", kind.toLowerCase(), name, ...place);
  return kind === "Namespace" ? `${line} # when nothing else is in it` : line;
}
