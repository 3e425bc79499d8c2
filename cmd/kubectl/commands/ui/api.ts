import type { ActionInput } from "../../action.ts";
import { runTool } from "../mcp/run-tool.ts";
import { checkedArguments, type ToolSchema } from "../mcp/tool-arguments.ts";
import type { Tool } from "../mcp/tools.ts";

/** The paths below /api/v1/ that run a command, and its tool. */
const commandOf: Readonly<Record<string, string>> = {
  status: "status",
  diagnosis: "diagnose",
  deployments: "deployments",
  tree: "tree",
  events: "events",
  explanation: "explain",
  rollout: "rollout_status",
};

/** An answer of the API. */
export interface ApiAnswer {
  readonly status: 200 | 400 | 404 | 502;
  /** A JSON document. */
  readonly text: string;
}

const maxBytes = 16 * 1024 * 1024;

interface Api {
  readonly server: ActionInput<object>;
  /** Those of the flags of the server. */
  readonly tools: readonly Tool[];
  readonly signal: AbortSignal;
}

/** Runs the command of a path with the arguments of its query. Never rejects for what a user or a cluster can cause. */
export async function answerApi(
  name: string,
  query: URLSearchParams,
  { server, tools, signal }: Api,
): Promise<ApiAnswer> {
  const tool = Object.hasOwn(commandOf, name)
    ? tools.find((one) => one.name === commandOf[name])
    : undefined;
  if (tool === undefined) return failed(404, "There is no such document");
  const checked = checkedArguments(tool.schema, argumentsOf(query, tool.schema));
  if (typeof checked === "string") return failed(400, checked);
  const { document, text, isFailure } = await runTool(tool, checked, { server, signal, maxBytes });
  if (!isFailure) return { status: 200, text };
  return document === undefined
    ? failed(502, text)
    : { status: 502, text: JSON.stringify(document) };
}

/** The query as the arguments of a tool: a list for what is a list, true or false for what is a flag. */
function argumentsOf(
  query: URLSearchParams,
  { properties }: ToolSchema,
): Readonly<Record<string, unknown>> {
  const names = [...new Set(query.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = query.getAll(name);
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
      const type = schema !== undefined && "type" in schema ? schema.type : undefined;
      return [name, type === "array" ? values : single(values, type === "boolean")];
    }),
  );
}

function single(values: readonly string[], isFlag: boolean): unknown {
  const [value, ...others] = values;
  if (others.length > 0) return values;
  if (isFlag && (value === "true" || value === "false")) return value === "true";
  return value;
}

/** An error as a JSON document. */
function failed(status: ApiAnswer["status"], error: string): ApiAnswer {
  return { status, text: JSON.stringify({ error }) };
}
