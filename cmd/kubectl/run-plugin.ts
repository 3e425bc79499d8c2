import { runCommand } from "../run.ts";
import { runCli } from "./cli.ts";

/** The process `kubectl knfleet`, from its command line to its exit code. */
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
      // Opened only by a command that reads it.
      get stdin() {
        return process.stdin;
      },
    };
    return runCli(terminal, signal);
  });
}
