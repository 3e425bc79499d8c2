import { plainText } from "../../../../api/foreign-text.ts";
import type { ActionInput } from "../../action.ts";
import { KnownSecrets } from "../../bundle/known-secrets.ts";
import { Redactor } from "../../bundle/write-bundle.ts";
import { failureOf } from "../../failure.ts";
import type { ToolSchema } from "../../main/tool-arguments.ts";
import { clusterList } from "../../page/clusters.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { runTool } from "../../tools/run-tool.ts";
import { checkedArguments } from "../../tools/tool-arguments.ts";
import type { Tool } from "../../tools/tools.ts";

/** The paths below /api/v1/ that run a command, and its tool. */
const commandOf: Readonly<Record<string, string>> = {
  status: "status",
  diagnosis: "diagnose",
  deployments: "deployments",
  tree: "tree",
  events: "events",
  workloads: "workloads",
  check: "check",
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
  readonly access: ClusterAccess;
  /** Those of the flags of the server. */
  readonly tools: readonly Tool[];
  readonly signal: AbortSignal;
}

/** Runs the command of a path with the arguments of its query. Never rejects for what a user or a cluster can cause. */
export async function answerApi(
  name: string,
  query: URLSearchParams,
  { server, access, tools, signal }: Api,
): Promise<ApiAnswer> {
  if (name === "clusters") return await answerClusters(query, { server, access, signal });
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

async function answerClusters(
  { size }: URLSearchParams,
  { server: { flags, terminal }, access, signal }: Omit<Api, "tools">,
): Promise<ApiAnswer> {
  if (size > 0) return failed(400, "clusters has no arguments");
  const redactor = new Redactor(new KnownSecrets().finder());
  return await clusterList({ access, flags, now: terminal.now }, signal).then(
    (document) => ({ status: 200, text: JSON.stringify(redactor.value(document)) }),
    (error: unknown) => failed(502, plainText(redactor.text(failureOf(error).error))),
  );
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
