import { parseArgs } from "node:util";

import { phases, type Phase } from "./crash-sweep.ts";
import { faultCases } from "./fault-cases.ts";
import { usualDeaths, type FaultPlan } from "./run-faults.ts";
import type { SweepPlan } from "./sweep.ts";

const ids = ["C1", "C28", ...new Set(faultCases.map(({ id }) => id))].toSorted((a, b) =>
  a.localeCompare(b, "en", { numeric: true }),
);
/** What `--help` prints. */
export const usage = `Usage: npm run faults -- [--quick] [--guard] [--only ID,…] [--match TEXT] [--seed N]
                         [--kind KIND] [--phase PHASE] [--write N,…] [--side before|after]
                         [--deaths N] [--from N]
       npm run faults -- commands [--help]   harms the commands of kubectl knfleet

Harms a real controller between a real hub and real spokes, and compares what comes of it with an undisturbed run. LATE is what was survived, but
took longer than the fault table of the design allows; it fails here, and not in \`npm test\`.
  --quick         what \`npm test\` runs: a sample of the crash points and the short cases; else everything, which takes hours
  --only LIST     some of ${ids.join(", ")}
  --guard         the single cases meet controllers that protect their anchors; else only the crash sweep does
  --match TEXT    only cases whose description contains the text
  --seed N        draws the sample, and what is left to chance; printed with every run
  --list          the cases, without running them

The crash sweep (C1: SIGKILL before and after every write; C28: SIGTERM in the uninstall) alone:
  --kind KIND     KnativeServing, KnativeEventing, or Set: the rollout of a fleet set over three clusters, at every write that is about the set
  --phase PHASE   ${phases.join(", ")}
  --write LIST    at the N-th write only; several: one controller after the other, in one life
  --side SIDE     before the server sees the write, or after it has answered
  --deaths N      so many controllers die one after the other in each phase of a life; default ${usualDeaths}, 1 takes longest
  --from N        goes on with the N-th life of each kind, after a run that was ended`;

/** What the command line of `npm run faults` asks for. */
export interface FaultOptions extends FaultPlan {
  readonly seed: number;
  readonly isGuarded: boolean;
  readonly list: boolean;
}

/** Undefined: only the usage is asked for. Throws on what it does not know. */
export function optionsOf(args: readonly string[]): FaultOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      guard: { type: "boolean", default: false },
      only: { type: "string" },
      match: { type: "string" },
      seed: { type: "string" },
      kind: { type: "string" },
      phase: { type: "string" },
      write: { type: "string" },
      deaths: { type: "string" },
      from: { type: "string" },
      side: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  const { quick, list, match } = values;
  const only = values.only?.split(",");
  for (const id of only ?? []) oneOf("--only", id, ids);
  return {
    quick,
    list,
    isGuarded: values.guard,
    seed: numberOf("--seed", values.seed) ?? Math.floor(Math.random() * 1_000_000),
    point: pointOf(values),
    ...(only === undefined ? {} : { only }),
    ...(match === undefined ? {} : { match }),
  };
}

type PointFlags = { readonly [Flag in keyof SweepPlan | "write"]?: string };

function pointOf({ kind, phase, side, write, deaths, from }: PointFlags): SweepPlan {
  const kinds = ["KnativeServing", "KnativeEventing", "Set"] as const;
  const sides = ["before", "after"] as const;
  const writes = write?.split(",").map((text) => numberOf("--write", text));
  return {
    ...(kind === undefined ? {} : { kind: oneOf("--kind", kind, kinds) }),
    ...(phase === undefined ? {} : { phase: oneOf<Phase>("--phase", phase, phases) }),
    ...(side === undefined ? {} : { side: oneOf("--side", side, sides) }),
    ...(writes === undefined ? {} : { writes }),
    ...(deaths === undefined ? {} : { deaths: numberOf("--deaths", deaths) }),
    ...(from === undefined ? {} : { from: numberOf("--from", from) }),
  };
}

function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw new Error(`${flag} takes one of ${allowed.join(", ")}`);
  return found;
}

function numberOf(flag: string, text: string): number;
function numberOf(flag: string, text: string | undefined): number | undefined;
function numberOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${flag} takes a whole number`);
  return Number(text);
}
