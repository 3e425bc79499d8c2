import { spawn } from "node:child_process";
import { once } from "node:events";

type Environment = Readonly<Record<string, string | undefined>>;

// What a shell says of a command that it does not find, or may not start.
const notStarted: readonly (number | null)[] = [126, 127];

/**
 * Shows a text in the pager of `KNFLEET_PAGER` or `PAGER`, else in less, and waits until the person leaves it. False when nobody wants one (an
 * empty name, `cat`, a dumb terminal), or when it does not start: then nothing was shown.
 */
export async function page(text: string, env: Environment): Promise<boolean> {
  const command = env["KNFLEET_PAGER"] ?? env["PAGER"] ?? "less";
  if (["", "cat"].includes(command.trim()) || env["TERM"] === "dumb") return false;
  const child = spawn(command, {
    shell: true,
    stdio: ["pipe", "inherit", "inherit"],
    // Ends by itself when all fits, keeps colours, and leaves the text on the screen.
    env: { ...env, LESS: env["LESS"] ?? "FRX" },
  });
  // Who has read enough leaves before the end.
  child.stdin.on("error", () => undefined);
  child.stdin.end(text);
  const ended = await once(child, "close").catch(() => undefined);
  return ended !== undefined && !notStarted.includes(child.exitCode);
}
