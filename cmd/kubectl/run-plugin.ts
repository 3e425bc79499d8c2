import { runCommand } from "../service/run.ts";
import { runCli } from "./cli.ts";

/** Runs the process `kubectl knfleet`, from its command line to its exit code. */
export function runPlugin(): Promise<void> {
  return runCommand((signal) => {
    const { env, stdout, stderr } = process;
    const args = process.argv.slice(2);
    const terminal = {
      args,
      env,
      stdout,
      stderr,
      now: () => new Date(),
      page: async (text: string) => (await import("./output/pager.ts")).showInPager(text, env),
      // A getter, so that only a command that reads it opens standard input.
      get stdin() {
        return process.stdin;
      },
    };
    return runCli(terminal, signal);
  });
}
