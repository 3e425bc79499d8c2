import { parseArgs } from "node:util";

import { startFleet } from "../../fleet/fleet.ts";
import { tableOf } from "../table.ts";
import type { FaultResult } from "../trial.ts";
import { attackText, type Trial } from "./attack.ts";
import { startCommandBench } from "./command-bench.ts";
import { titleOf } from "./command-case.ts";
import { commandCases } from "./command-cases.ts";
import { tryCommand } from "./try-command.ts";

const names = [...new Set(commandCases.map(({ command }) => command))];

/** What `--help` prints. */
export const commandUsage = `Usage: npm run faults -- commands [--only COMMAND,…] [--match TEXT] [--list]

Harms each command of kubectl knfleet that writes: killed before and after each write, 403, 409 and 503 for each request, each right missing once, twice
at once, a slow and a dead cluster, a dry run. Nothing of others may change, a right is named before a write, what is left is named, and the command
again and its counterpart end as always.
  --only LIST     some of ${names.join(", ")}
  --match TEXT    only attacks whose description contains the text
  --list          the commands, without running them`;

/** What the command line of `npm run faults -- commands` asks for. */
export interface CommandFaultOptions {
  readonly only: readonly string[];
  readonly match: string;
  readonly list: boolean;
}

/** Undefined: only the usage is asked for. Throws on what it does not know. */
export function commandOptionsOf(args: readonly string[]): CommandFaultOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      match: { type: "string", default: "" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  const only = values.only?.split(",") ?? names;
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`--only takes some of ${names.join(", ")}`);
  return { only, match: values.match, list: values.list };
}

/** Runs the bench of the commands, and resolves with the exit code. */
export async function commandFaults({ only, match, list }: CommandFaultOptions): Promise<number> {
  const chosen = commandCases.filter(({ command }) => only.includes(command));
  if (list) {
    process.stdout.write(chosen.map((one) => `${titleOf(one)}\n`).join(""));
    return 0;
  }
  await using fleet = await startFleet({ spokes: 1, hub: { kwok: true }, log: say });
  await using bench = await startCommandBench(fleet);
  const results: FaultResult[] = [];
  for (const one of chosen) {
    const isMeant = ({ attack }: Trial): boolean => attackText(attack).includes(match);
    const onResult = ({ fault, survived, notes }: FaultResult): void =>
      say([`${survived ? "yes" : "NO "} ${fault}`, ...notes].join("\n      "));
    // oxlint-disable-next-line no-await-in-loop -- one command after the other on one pair of clusters
    results.push(
      ...(await tryCommand(bench, one, { choose: (all) => all.filter(isMeant), onResult })),
    );
  }
  if (results.length === 0) throw new Error("No attack has that description");
  process.stdout.write(`${tableOf(results)}\n`);
  return results.every(({ survived }) => survived) ? 0 : 1;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
