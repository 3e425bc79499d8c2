import { spawnSync } from "node:child_process";
import { inspect } from "node:util";

import { FleetError } from "../../api/errors.ts";
import { foundFiles } from "../support/found-releases.ts";
import { knativeScenes } from "./knative-scenes.ts";
import { startKnativeWorld } from "./knative-world.ts";

const startedAt = performance.now();

function say(line: string): void {
  const elapsed = Math.round((performance.now() - startedAt) / 1_000);
  process.stderr.write(`[${String(elapsed).padStart(5)} s] ${line}\n`);
}

/** Why this machine cannot run Knative's programs; undefined when it can. */
function obstacle(): string | undefined {
  const made = spawnSync("unshare", ["--net", "--pid", "--fork", "ip", "link", "set", "lo", "up"], {
    encoding: "utf8",
  });
  if (made.error !== undefined) return "unshare (util-linux) is missing";
  if (made.status === 0) return undefined;
  return `no network namespace can be made: ${made.stderr.trim()}; run as root on Linux, with ip (iproute2)`;
}

async function knative(): Promise<number> {
  const { dir, isKnative, title } = await foundFiles(undefined, say);
  if (!isKnative) {
    process.stderr.write(
      `Error: Knative's own programs need Knative's own release files: ${title}\n`,
    );
    return 1;
  }
  const problem = obstacle();
  if (problem !== undefined) {
    process.stderr.write(
      `Error: Knative's own programs need a network namespace each: ${problem}\n`,
    );
    return 1;
  }
  say(`Release files: ${title}`);
  await using world = await startKnativeWorld(dir, say);
  let failed = 0;
  for (const { name, run } of knativeScenes) {
    const began = performance.now();
    const error = await run(world).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const seconds = Math.round((performance.now() - began) / 1_000);
    process.stdout.write(`${error === undefined ? "yes" : "NO "}   ${name} (${seconds} s)\n`);
    if (error === undefined) continue;
    failed += 1;
    world.fleet.keep();
    process.stderr.write(`${inspect(error)}\n${await world.lastWords()}\n`);
  }
  return failed === 0 ? 0 : 1;
}

try {
  process.exitCode = await knative();
} catch (error) {
  const text = error instanceof FleetError ? `Error: ${error.message}` : inspect(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
  // A connection that nobody answers would keep the process for a while.
  setTimeout(() => process.exit(), 200).unref();
}
