import { Command, Option } from "commander";

import type { Action, ActionInput } from "./action.ts";
import type { CommandEntry } from "./command-entry.ts";
import type { ExitCode } from "./exit-codes.ts";
import { commonOptions, ignoredOptions, readFlags, type RawFlags } from "./flags.ts";
import { formatHelp, shortHelp, type Examples } from "./help.ts";
import { renderEntry } from "./render/render-entry.ts";
import type { Terminal } from "./terminal.ts";

const description =
  "Knative Serving and Eventing on a whole fleet of clusters: what the hub says, checked against what the spokes say.";

const programExamples: Examples = [
  ["kubectl knfleet status -A", "the whole fleet, worst first"],
  ["kubectl knfleet status ks/knative-serving -n team-a", "one installation"],
  ["kubectl knfleet status -A --no-live", "only what the hub says, without reaching any spoke"],
  ["kubectl knfleet deployments -A -o wide", "the Knative deployments of all spokes, with images"],
  ["kubectl knfleet version", "versions of this program, the hub and all installations"],
];

const selectionText =
  "Names are ks/NAME, ke/NAME, KnativeServing/NAME or NAME; a type alone selects all of that type.";

const entries = (): readonly CommandEntry[] => [
  {
    name: "status",
    args: "[TYPE[/NAME] | NAME...]",
    summary: "Show every installation: the hub's view and the spoke's",
    text: `One row for each Knative installation, worst first. HUB is what the conditions on the hub say, LIVE is what the target\ncluster says, reached through its ClusterProfile as the controller reaches it.\n${selectionText}`,
    examples: [
      ["kubectl knfleet status -A", "the whole fleet"],
      ["kubectl knfleet status ks/knative-serving ke/knative-eventing", "two installations"],
      ["kubectl knfleet status -A -l env=prod -o wide", "with server, provider and message"],
      ["kubectl knfleet status -A -o json", "for scripts; see docs/cli.md for the fields"],
    ],
    options: [
      new Option("--no-live", "only the hub's view: no spoke is reached"),
      new Option("--fail-on <severity>", "error|warning|never: what makes the exit code 1"),
    ],
    load: async () => (await import("./status-action.ts")).runStatus,
  },
  {
    name: "deployments",
    args: "[TYPE[/NAME] | NAME...]",
    summary: "List the Knative deployments of the spokes",
    text: `The Deployments of the selected installations, read from their clusters. A cluster that cannot be read is named below\nthe table and delays no other.\n${selectionText}`,
    examples: [
      ["kubectl knfleet deployments -A", "of the whole fleet"],
      ["kubectl knfleet deployments ks -A -o wide", "of all KnativeServing, with images"],
    ],
    options: [],
    load: async () => (await import("./deployments-action.ts")).runDeployments,
  },
  renderEntry(),
  {
    name: "version",
    args: "",
    summary: "Show the versions of this program, the hub and the installations",
    text: "The versions of this program, of Kubernetes on the hub, and of every Knative installation.",
    examples: [
      ["kubectl knfleet version", "everything"],
      ["kubectl knfleet version --client", "this program only; no hub is asked"],
    ],
    options: [new Option("--client", "this program's version only")],
    load: async () => (await import("./version-action.ts")).runVersion,
  },
];

/** Runs the action of the command that was chosen. */
type Run = <Options>(
  load: () => Promise<Action<Options>>,
  input: ActionInput<Options>,
) => Promise<ExitCode>;

/** The parser with all commands; actions are loaded only when chosen. Parsing throws CommanderError and UsageError. */
export function createProgram(terminal: Terminal, run: Run): Command {
  const program = new Command("kubectl knfleet")
    .description(description)
    .usage("COMMAND [flags]")
    .exitOverride()
    .configureOutput({ writeOut: (text) => terminal.stdout.write(text), writeErr: () => {} })
    .configureHelp({ formatHelp: formatHelp(programExamples) })
    .helpOption("-h, --help", "examples, flags and exit codes")
    .helpCommand("help [command]", "Help for a command");
  for (const option of [...commonOptions(), ...ignoredOptions()]) program.addOption(option);
  for (const entry of entries()) {
    const command = program
      .command(entry.name)
      .usage(`${entry.args} [flags]`.trim())
      .summary(entry.summary)
      .description(entry.text)
      .configureHelp({ showGlobalOptions: true, formatHelp: formatHelp(entry.examples) });
    if (entry.args.includes("NAME")) command.argument("[names...]");
    for (const option of entry.options) command.addOption(option);
    command.action(async () => {
      const flags = readFlags(program.opts<RawFlags>(), terminal.env);
      await run(entry.load, { args: command.args, flags, options: command.opts(), terminal });
    });
  }
  return program;
}

/** What bare `kubectl knfleet` prints. */
export function greeting(): string {
  return shortHelp(description, programExamples);
}
