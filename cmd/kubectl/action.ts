import type { ClusterAccess } from "./cluster-access.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { Flags } from "./flags.ts";
import { painter, wantsColour } from "./print/colour.ts";
import type { Asked } from "./print/notes.ts";
import { renderJson, renderYaml } from "./print/structured.ts";
import { renderTable, type Table } from "./print/table.ts";
import type { ReadLimits } from "./read-clusters.ts";
import { readNames, type Selection } from "./selection.ts";
import type { Terminal } from "./terminal.ts";

/** What every command's action is given. */
export interface ActionInput<Options> {
  readonly args: readonly string[];
  readonly flags: Flags;
  /** Flags of this command alone, unchecked. */
  readonly options: Options;
  readonly terminal: Terminal;
}

/** Runs one command to its exit code; throws what `failureOf` knows how to explain. */
export type Action<Options> = (
  input: ActionInput<Options>,
  signal: AbortSignal,
) => Promise<ExitCode>;

/** The installations that arguments and flags select. Throws UsageError. */
export function selectionOf(
  args: readonly string[],
  flags: Flags,
  access: ClusterAccess,
): Selection {
  const namespace = namespaceOf(flags, access);
  return {
    ...readNames(args),
    ...(namespace === undefined ? {} : { namespace }),
    ...(flags.selector === undefined ? {} : { labelSelector: flags.selector }),
  };
}

function namespaceOf({ namespace }: Flags, access: ClusterAccess): string | undefined {
  return namespace === null ? access.namespace : namespace;
}

/** What the notes below a table need to write commands that work when pasted. */
export function askedOf(selection: Selection, { hub }: Flags): Asked {
  const flags = [
    ...(hub.kubeconfig === undefined ? [] : [`--kubeconfig ${hub.kubeconfig}`]),
    ...(hub.context === undefined ? [] : [`--context ${hub.context}`]),
  ];
  return {
    command: ["kubectl knfleet", ...flags].join(" "),
    ...(selection.namespace === undefined ? {} : { namespace: selection.namespace }),
    narrowed: selection.names.length > 0 || selection.labelSelector !== undefined,
  };
}

/** The limits that the flags set. */
export function limitsOf(
  { concurrency, spokeTimeoutMs }: Flags,
  onProgress: ReadLimits["onProgress"],
): ReadLimits {
  return { concurrency, spokeTimeoutMs, onProgress };
}

/** How a report looks in each output format. */
export interface Rendering {
  readonly document: unknown;
  /** Lines in front of the table. */
  readonly heading?: string;
  readonly table: (wide: boolean) => Table;
  /** Lines for standard error. */
  readonly notes: readonly string[];
}

/** Prints a report: data on standard output, notes on standard error and not for documents. */
export async function print(rendering: Rendering, flags: Flags, terminal: Terminal): Promise<void> {
  const { stdout, stderr, env } = terminal;
  if (flags.output === "json") stdout.write(renderJson(rendering.document));
  else if (flags.output === "yaml") stdout.write(await renderYaml(rendering.document));
  else {
    const table = rendering.table(flags.output === "wide");
    const paint = painter(wantsColour(flags.color, env, stdout.isTTY === true));
    const text =
      table.rows.length === 0 ? "" : renderTable(table, { headers: flags.headers, paint });
    const full = `${rendering.heading ?? ""}${text}`;
    if (full !== "") stdout.write(full);
    if (!flags.quiet) stderr.write(rendering.notes.map((note) => `${note}\n`).join(""));
  }
}
