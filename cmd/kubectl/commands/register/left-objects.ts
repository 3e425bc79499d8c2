import { plainText } from "../../../../api/foreign-text.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import type { ActionInput } from "../../action.ts";
import { words } from "../../output/steps.ts";

/** Objects that a command has left on the cluster and on the hub, in the order in which they are to be deleted. */
export interface LeftObjects {
  readonly spoke: readonly Manifest[];
  readonly hub: readonly Manifest[];
}

interface Wording {
  /** Kubeconfig contexts of the two. */
  readonly contexts: Readonly<Record<keyof LeftObjects, string>>;
  /** The sentence before the commands. `place`: "the cluster" or "the hub". */
  readonly titleOf: (place: string) => string;
}

type Input = Pick<
  ActionInput<{ readonly fromKubeconfig?: string }>,
  "flags" | "options" | "terminal"
>;

/** Says on standard error what a command that failed has left, with the commands that delete it. */
export function writeLeft(
  left: LeftObjects,
  { contexts, titleOf }: Wording,
  { flags: { hub }, options, terminal: { stderr } }: Input,
): void {
  const files = { hub: hub.kubeconfig, spoke: options.fromKubeconfig ?? hub.kubeconfig };
  const places = { hub: "the hub", spoke: "the cluster" };
  for (const where of ["hub", "spoke"] as const) {
    const file = files[where];
    const kubeconfig = file === undefined ? [] : ["--kubeconfig", file];
    const commands = left[where].map((object) =>
      deleteCommand(object, ["--context", contexts[where], ...kubeconfig]),
    );
    const lines = commands.length === 0 ? [] : [`warning: ${titleOf(places[where])}`, ...commands];
    stderr.write(lines.map((text) => `${plainText(text)}\n`).join(""));
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
