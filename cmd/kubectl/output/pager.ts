import { spawn } from "node:child_process";
import { once } from "node:events";

type Environment = Readonly<Record<string, string | undefined>>;

// Exit codes of a shell for a command that does not exist or cannot start.
const notStarted: readonly (number | null)[] = [126, 127];

/**
 * Shows a text in the pager of `KNFLEET_PAGER` or `PAGER`, or else in less, and waits for its end. Returns false, without showing anything, when no pager
 * is wanted (an empty name, `cat`, a dumb terminal) or when it does not start.
 */
export async function showInPager(text: string, env: Environment): Promise<boolean> {
  const command = env["KNFLEET_PAGER"] ?? env["PAGER"] ?? "less";
  if (["", "cat"].includes(command.trim()) || env["TERM"] === "dumb") return false;
  const child = spawn(command, {
    shell: true,
    stdio: ["pipe", "inherit", "inherit"],
    // less ends by itself when the text fits, keeps colours, and leaves the text on the screen.
    env: { ...env, LESS: env["LESS"] ?? "FRX" },
  });
  // Leaving the pager before the end of the text is no error.
  child.stdin.on("error", () => undefined);
  child.stdin.end(text);
  const ended = await once(child, "close").catch(() => undefined);
  return ended !== undefined && !notStarted.includes(child.exitCode);
}
