import type { ActionInput, CommandEntry } from "../action.ts";
import type { Flags } from "../flags.ts";
import type { ToolSchema } from "../main/tool-arguments.ts";
import { namedNamespace } from "../selection/hub-namespace.ts";
import type { ToolArguments } from "./tool-arguments.ts";

/** A command that only reads, as a tool. */
export interface Tool {
  /** The words of the command, with `_` between them. */
  readonly name: string;
  readonly description: string;
  readonly schema: ToolSchema;
  readonly entry: CommandEntry;
}

/**
 * The commands with arguments for tools; of a bundle those that read bundles or no cluster at all. None of them writes, opens a connection for somebody else, or gives
 * out a credential; and no argument names a file of this machine or lets a command write.
 */
export function toolsFor(
  commands: readonly CommandEntry[],
  { bundle }: Pick<Flags, "bundle">,
): readonly Tool[] {
  return commands.flatMap((entry) => {
    const { name, summary, kind = "text", tool } = entry;
    if (tool === undefined || (bundle !== undefined && !worksOnBundle(entry))) return [];
    const description = `${summary}. Returns a ${kind} document of knfleet.dev/v1.`;
    return [{ name: name.replaceAll(" ", "_"), description, schema: tool, entry }];
  });
}

function worksOnBundle({ readsBundles, needsFleet }: CommandEntry): boolean {
  return readsBundles === true || needsFleet === undefined;
}

type Input = Pick<ActionInput<object>, "args" | "flags" | "options">;

/** The input of a command for checked arguments. What the arguments do not say, the flags of the server say. */
export function inputOf(
  { names, targets, kinds, words, set, ...others }: ToolArguments,
  flags: Flags,
): Input {
  const { namespace, selector, cluster, on, failed, reason, ...options } = others;
  const { onNote: _, ...rest } = flags;
  return {
    args: [names ?? targets ?? kinds ?? words ?? set ?? []].flat().filter(isText),
    flags: {
      ...rest,
      // Of all namespaces, unless an argument or the server's -n names one.
      namespace: textOr(namespace, namedNamespace(flags)),
      selector: textOr(selector, flags.selector),
      cluster: textOr(cluster, flags.cluster),
      on: textOr(on, flags.on),
      failed: failed === true || flags.failed,
      reason: textOr(reason, flags.reason),
      output: "json",
      outputGiven: true,
      template: "",
      sortBy: undefined,
      color: "never",
      quiet: true,
      input: false,
    },
    options,
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function textOr(value: unknown, otherwise: string | undefined): string | undefined {
  return isText(value) ? value : otherwise;
}
