import { fleetSetKinds } from "../../../../api/fleet-set.ts";
import { type ActionInput, askedOf, openReading, print } from "../../action.ts";
import type { FilenameFlag } from "../../common-options.ts";
import { rulesOfHub } from "../../compare/controller-rules.ts";
import { namespaceOfHub, type SpokeNamespaceFlag } from "../../compare/rendering-options.ts";
import type { ExitCode } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { inAscii, wantsAscii } from "../../output/characters.ts";
import { unreadNotes } from "../../output/notes.ts";
import { listExitCode } from "../../output/report.ts";
import { type Commands, stepLine, words } from "../../output/steps.ts";
import { painterFor, type Terminal } from "../../output/terminal.ts";
import { readSelection } from "../../selection/selection-file.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { openWayDeps } from "./open-way.ts";
import { collapsed, dotOf, mermaidOf, type TreeNode, treeText } from "./tree-node.ts";
import { tree, type TreeReport } from "./tree.ts";

/** Flags of `tree` alone. */
interface TreeFlags extends FilenameFlag, SpokeNamespaceFlag {
  readonly all?: boolean;
}

/** `kubectl knfleet tree`. */
export async function runTree(
  input: ActionInput<TreeFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const { env, now, stderr } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const selection = await readSelection(input, access, signal);
  const way = await openWayDeps(access, { flags, env }, signal);
  const { limits, end } = openReading(flags, terminal);
  const namespaceOf = namespaceOfHub(options, rulesOfHub(access, signal));
  const report = await tree(selection, { access, way, limits, namespaceOf, now }, signal).finally(
    end,
  );
  const items = options.all === true ? report.items : report.items.map(collapsed);
  const { commands } = askedOf(selection, flags);
  const notes = notesOf(report, commands);
  if (flags.output === "dot" || flags.output === "mermaid") {
    terminal.stdout.write(flags.output === "dot" ? dotOf(items) : mermaidOf(items));
    if (!flags.quiet) stderr.write(notes.map((note) => `${note}\n`).join(""));
    return listExitCode(report);
  }
  await print(
    {
      document: report,
      heading: textOf(items, flags, terminal),
      notes,
    },
    flags,
    terminal,
  );
  return listExitCode(report);
}

function textOf(items: readonly TreeNode[], flags: Flags, terminal: Terminal): string {
  const { stdout, env } = terminal;
  const isTerminal = stdout.isTTY === true;
  const isCut = isTerminal && flags.output !== "wide" && (stdout.columns ?? 0) > 0;
  const paint = painterFor(terminal, flags.color);
  const text = treeText(items, { paint, width: isCut ? stdout.columns : undefined });
  return wantsAscii(env) ? inAscii(text) : text;
}

function notesOf({ items, errors, summary }: TreeReport, commands: Commands): readonly string[] {
  const installations = items.flatMap((item) =>
    item.kind in fleetSetKinds ? item.children : item,
  );
  const worst = installations.find(hasFailed);
  return [
    ...(items.length + errors.length === 0 ? ["No Knative installations found."] : []),
    ...unreadNotes(errors, { unread: summary.unread, clusters: summary.clusters }),
    ...(worst === undefined ? [] : [stepLine(`${commands.knfleet} diagnose ${argumentOf(worst)}`)]),
  ];
}

function hasFailed({ state, children }: TreeNode): boolean {
  return state === "FAIL" || children.some(hasFailed);
}

function argumentOf({ kind, namespace, name }: TreeNode): string {
  return words(`${kind === "KnativeServing" ? "ks" : "ke"}/${name}`, "-n", namespace ?? "");
}
