import { jsonOf, isRecord } from "../../../api/fields.ts";
import { plainLines } from "../../../api/foreign-text.ts";
import type { ActionInput } from "../action.ts";
import { KnownSecrets } from "../bundle/known-secrets.ts";
import { Redactor } from "../bundle/write-bundle.ts";
import { explainFailure, runAction } from "../run-action.ts";
import type { ToolArguments } from "./tool-arguments.ts";
import { inputOf, type Tool } from "./tools.ts";

/** The answer to a call: a document, or a text that says what went wrong. */
export interface ToolAnswer {
  readonly document?: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** True when the command could not do its work. An unhealthy fleet is no failure. */
  readonly isFailure: boolean;
}

/** Where a tool runs, and what its reader can take. */
interface ToolRun {
  readonly server: ActionInput<object>;
  readonly signal: AbortSignal;
  /** A larger document is a failure that says so. */
  readonly maxBytes: number;
}

/**
 * Runs the command of a tool inside this process, and takes what looks like a secret out of its document, as `gather` does. Never rejects for what a user
 * or a cluster can cause.
 */
export async function runTool(
  tool: Tool,
  checked: ToolArguments,
  { server, signal, maxBytes }: ToolRun,
): Promise<ToolAnswer> {
  const written = { stdout: "", stderr: "" };
  const { env, now } = server.terminal;
  const terminal = {
    args: [],
    env,
    now,
    stdout: { write: (part: string) => (written.stdout += part) },
    stderr: { write: (part: string) => (written.stderr += part) },
  };
  const input = { ...inputOf(checked, server.flags), terminal };
  const chosen = { entry: tool.entry, input };
  try {
    await runAction(chosen, signal);
  } catch (error) {
    const help = `kubectl knfleet ${tool.entry.name} --help`;
    await explainFailure(error, { terminal, chosen, help }, signal);
  }
  return answerOf(written, maxBytes);
}

interface Written {
  readonly stdout: string;
  readonly stderr: string;
}

function answerOf({ stdout, stderr }: Written, maxBytes: number): ToolAnswer {
  const redactor = new Redactor(new KnownSecrets().finder());
  const document = redactor.value(jsonOf(stdout));
  const said = redactor.text(plainLines(stderr)).trim();
  if (!isRecord(document)) return { text: said || "The command was ended", isFailure: true };
  if (document["summary"] === null && said !== "") return { document, text: said, isFailure: true };
  const text = JSON.stringify(document);
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return { document, text, isFailure: false };
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const advice = "Ask for fewer installations: names, namespace, selector, cluster or on";
  return { text: `The document has ${size}, which is too much. ${advice}.`, isFailure: true };
}
