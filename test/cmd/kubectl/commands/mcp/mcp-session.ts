import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

import { isRecord } from "../../../../../api/fields.ts";
import { compileCache } from "../../../../support/compile-cache.ts";
import { knfleetFile } from "../../run-knfleet.ts";

/** A client that speaks to a real server process. */
export interface Session extends AsyncDisposable {
  readonly client: Client;
  /** What the server wrote on standard error. */
  readonly said: () => string;
  call(name: string, args?: Readonly<Record<string, unknown>>): Promise<Called>;
}

interface Called {
  readonly isError: boolean;
  readonly document: Readonly<Record<string, unknown>> | undefined;
  readonly text: string;
}

/** Starts the real program, and speaks to it as a client does. */
export async function connect(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Session> {
  const { PATH = "", HOME = "" } = process.env;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [knfleetFile, "mcp", ...args],
    env: { PATH, HOME, KUBECONFIG: "/nowhere", ...compileCache, ...env },
    stderr: "pipe",
  });
  let said = "";
  transport.stderr?.on("data", (part: Buffer) => (said += part.toString()));
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  return {
    client,
    said: () => said,
    async call(name, given = {}) {
      const { content, structuredContent, isError } = await client.callTool({
        name,
        arguments: { ...given },
      });
      const [first]: unknown[] = Array.isArray(content) ? content : [];
      return {
        isError: isError === true,
        document: isRecord(structuredContent) ? structuredContent : undefined,
        text: isRecord(first) ? String(first["text"]) : "",
      };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** The items of a document. */
export function listOf(document: Called["document"]): readonly unknown[] {
  const items = document?.["items"];
  return Array.isArray(items) ? items : [];
}
