import { runCommand } from "../service/run.ts";
import { runCli } from "./cli.ts";

const briefMs = 250;

/** Runs the process `kubectl knfleet`, from its command line to its exit code. */
export function runPlugin(): Promise<void> {
  setTimeout(keepSmall, briefMs).unref();
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

/** Limits V8's young generation, which can grow to 64 MB. For a command that runs longer, memory matters more than speed. */
function keepSmall(): void {
  process.getBuiltinModule("node:v8").setFlagsFromString("--optimize-for-size");
}
