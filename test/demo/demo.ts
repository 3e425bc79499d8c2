import { join } from "node:path";

import type { Fleet } from "../fleet/fleet.ts";
import { invitation, keepUntilInterrupted } from "./ending.ts";
import { failureLines } from "./failure.ts";
import { Interrupted, interruptions } from "./interrupted.ts";
import { createNarrator } from "./narrator.ts";
import { demoOptions, usage, type DemoOptions } from "./options.ts";
import { storySteps, tellStory } from "./story.ts";

const parsed = demoOptions(process.argv.slice(2), {
  environment: process.env,
  stdinIsTerminal: process.stdin.isTTY,
  stdoutIsTerminal: process.stdout.isTTY,
  columns: process.stdout.columns,
});

if (parsed.kind === "help") {
  process.stdout.write(usage);
} else if (parsed.kind === "refused") {
  process.stderr.write(`Error: ${parsed.message}\n`);
  process.exitCode = 2;
} else {
  process.exitCode = await demonstrate(parsed.options);
}

/** Runs the demo; 0 when every step worked or a person stopped it, 1 when a step failed. */
async function demonstrate(options: DemoOptions): Promise<0 | 1> {
  const narrator = createNarrator({ options, steps: storySteps, write, now: Date.now });
  const signal = interruptions(
    () => write("\n\nStopping everything. Ctrl-C again ends at once.\n"),
    options.isKept,
  );
  const running = new AsyncDisposableStack();
  let fleet: Fleet | undefined;
  write("knfleet demo: a real hub and two real spokes on this machine\n");
  try {
    const stage = await tellStory({
      narrator,
      environment: process.env,
      projectRoot: join(import.meta.dirname, "..", ".."),
      signal,
      running,
      onFleet: (started) => (fleet = started),
    });
    write(`\nAll ${storySteps} steps worked.\n`);
    if (options.atEnd === "leave") {
      const until = options.terminal ? "you press Ctrl-C here" : `\`kill ${process.pid}\``;
      write(`\nThe fleet keeps running until ${until}. In another terminal:\n\n`);
      write(
        invitation(stage.workbench)
          .map((line) => `  ${line}`.trimEnd() + "\n")
          .join(""),
      );
      await keepUntilInterrupted(stage);
    }
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return 0;
    fleet?.keep();
    process.stderr.write(`\n${failureLines(error, fleet?.folder).join("\n")}\n`);
    return 1;
  } finally {
    if (!signal.aborted) write("\nStopping everything.\n");
    await running.disposeAsync();
    write("Stopped.\n");
  }
}

function write(text: string): void {
  process.stdout.write(text);
}
