import type { ActionInput, CommandEntry } from "../../action.ts";
import type { Flags } from "../../flags.ts";
import { selectionArguments, type ToolSchema } from "../../main/tool-arguments.ts";
import { namedNamespace } from "../../selection/hub-namespace.ts";
import { canI } from "../can-i/command.ts";
import { check } from "../check/command.ts";
import { deployments } from "../deployments/command.ts";
import { diagnoseEntry, explainEntry } from "../diagnosis-entries.ts";
import { diff } from "../diff/command.ts";
import { events } from "../events/command.ts";
import { get } from "../get/command.ts";
import { logs } from "../logs/command.ts";
import { orphans } from "../orphans/command.ts";
import { plan } from "../plan/command.ts";
import { rolloutEntries } from "../rollout-entries.ts";
import { status } from "../status/command.ts";
import { tree } from "../tree/command.ts";
import { version } from "../version/command.ts";
import { workloads } from "../workloads/command.ts";
import { type ArgumentName, type ToolArguments, toolSchema } from "./tool-arguments.ts";

/** A command that only reads, as a tool. */
export interface Tool {
  /** The words of the command, with `_` between them. */
  readonly name: string;
  readonly description: string;
  readonly schema: ToolSchema;
  readonly entry: CommandEntry;
}

/** A command that is declared with `command()` says its arguments itself, unless it is about a set. */
type Offered = readonly [
  entry: CommandEntry,
  names?: readonly ArgumentName[],
  required?: readonly ArgumentName[],
];

function rollout(name: string): readonly CommandEntry[] {
  return rolloutEntries().filter((entry) => entry.name === `rollout ${name}`);
}

/**
 * The commands that are offered, with their arguments. None of them writes, opens a connection for somebody else, or gives out a credential; and no
 * argument names a file of this machine or lets a command write.
 */
function offered(): readonly Offered[] {
  const ofSet = ["set", "namespace"] as const;
  return [
    [status],
    [diagnoseEntry(), ["targets", ...selectionArguments]],
    [explainEntry(), ["words"], ["words"]],
    [deployments],
    [tree],
    [events],
    [logs],
    [get],
    [orphans],
    [workloads],
    [check],
    [version],
    [diff],
    [plan],
    [canI],
    ...rollout("status").map((entry): Offered => [entry, ofSet, ofSet]),
    ...rollout("plan").map((entry): Offered => [entry, ofSet, ofSet]),
    ...rollout("verify").map((entry): Offered => [
      entry,
      [...ofSet, "stage", "cluster", "on"],
      ofSet,
    ]),
    ...rollout("history").map((entry): Offered => [entry, [...ofSet, "revision"], ofSet]),
  ];
}

/** The tools; of a bundle those whose commands read bundles or no cluster at all. */
export function toolsFor({ bundle }: Pick<Flags, "bundle">): readonly Tool[] {
  return offered()
    .filter(([entry]) => bundle === undefined || worksOnBundle(entry))
    .map(([entry, names = [], required = []]) => ({
      name: entry.name.replaceAll(" ", "_"),
      description: `${entry.summary}. Returns a ${entry.kind ?? "text"} document of knfleet.dev/v1.`,
      schema: entry.tool ?? toolSchema(names, required),
      entry,
    }));
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
