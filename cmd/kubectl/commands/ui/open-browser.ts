import { spawn } from "node:child_process";
import { once } from "node:events";

import type { Terminal } from "../../output/terminal.ts";
import { makePrivateFolder } from "../../spokes/private-folder.ts";

type Environment = Terminal["env"];

/** The command that opens a file in the browser; undefined where nobody sees a browser. */
export function openerOf(
  platform: NodeJS.Platform,
  env: Environment,
): readonly string[] | undefined {
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  const hasScreen = (env["DISPLAY"] ?? env["WAYLAND_DISPLAY"] ?? "") !== "";
  const isElsewhere = (env["SSH_CONNECTION"] ?? "") !== "";
  return hasScreen && !isElsewhere ? ["xdg-open"] : undefined;
}

/** Opens an address in the browser, until it is disposed. Returns false when there is no browser, or it does not start. */
export async function openBrowser(
  url: string,
  env: Environment,
): Promise<AsyncDisposable & { readonly isOpened: boolean }> {
  const [command, ...args] = openerOf(process.platform, env) ?? [];
  if (command === undefined) return { isOpened: false, [Symbol.asyncDispose]: async () => {} };
  await using ending = new AsyncDisposableStack();
  // Everybody on this computer can read the arguments of a program: the address is in a file that only its owner reads.
  const folder = ending.use(await makePrivateFolder());
  const text = `<!doctype html>\n<meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${url}"><title>Knative fleet</title>\n`;
  const path = await folder.write("fleet.html", text);
  const child = spawn(command, [...args, path], {
    env: { ...env },
    stdio: "ignore",
    detached: true,
  });
  child.unref();
  const isOpened = await once(child, "spawn").then(
    () => true,
    () => false,
  );
  const kept = ending.move();
  return { isOpened, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
