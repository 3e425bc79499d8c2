import { spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";

import { compileCache } from "../../../../support/compile-cache.ts";
import { knfleetFile } from "../../run-knfleet.ts";

/** An answer of the page's server. */
export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A running `kubectl knfleet ui`. */
export interface UiSession extends AsyncDisposable {
  /** The address that the command printed. */
  readonly url: URL;
  readonly pid: number;
  /** What the command wrote on standard error. */
  readonly said: () => string;
  /** Asks for a path exactly as it is given, without the secret. */
  ask(path: string, asking?: Asking): Promise<Answer>;
  /** The same with the secret. */
  read(path: string): Promise<Answer>;
  /** Ends the command as Ctrl-C does, and returns its exit code. */
  interrupt(): Promise<number | null>;
}

/** Starts the real program, or one that was built, which opens no browser. */
export async function startUi(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  program = knfleetFile,
): Promise<UiSession> {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [program, "ui", "--no-open", ...args], {
    env: { PATH, HOME, KUBECONFIG: "/nowhere", ...compileCache, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (part: Buffer) => (said += part.toString()));
  const closed = once(child, "close");
  const first = await Promise.race([once(child.stdout, "data"), closed.then(() => [""])]);
  if (!String(first[0]).startsWith("http")) throw new Error(`The page is not served: ${said}`);
  const url = new URL(String(first[0]).trim());
  const ask = (path: string, asking: Asking = {}): Promise<Answer> => send(url, path, asking);
  const interrupt = async (): Promise<number | null> => {
    child.kill("SIGINT");
    await closed;
    return child.exitCode;
  };
  return {
    url,
    pid: child.pid ?? 0,
    said: () => said,
    ask,
    read: (path) => ask(path, { headers: secretOf(url) }),
    interrupt,
    async [Symbol.asyncDispose]() {
      await interrupt();
    },
  };
}

/** The header with the secret of a printed address. */
export function secretOf({ hash }: URL): { readonly authorization: string } {
  return { authorization: `Bearer ${hash.replace("#token=", "")}` };
}

async function send(url: URL, path: string, { method = "GET", headers = {} }: Asking) {
  const { hostname: host, port } = url;
  const sent = request({ host, port, path, method, headers, agent: false });
  sent.end();
  const [response] = await once(sent, "response");
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
}
