import type { Ran } from "../../cmd/kubectl/run-knfleet.ts";
import { failure, isWrite, type Rule, type Seen } from "../fault.ts";
import type { Write } from "../write-log.ts";
import { deniedText, stablePath } from "./asked-right.ts";
import { type Attack, isChange, type Moment } from "./attack.ts";
import type { CommandBench, Place } from "./command-bench.ts";
import type { CommandCase } from "./command-case.ts";

/** What came of a run, or of two at once, under an attack. */
export interface Outcome {
  readonly runs: readonly Ran[];
  /** Writes that reached a cluster. */
  readonly writes: readonly Write[];
}

const slowMs = 2_200;
/** For clusters that say nothing. */
const shortly = ["--request-timeout", "3s", "--spoke-timeout", "3s"];
/** Else a busy machine is a slow cluster. */
const patience = ["--request-timeout", "30s", "--spoke-timeout", "30s"];

/** Runs a line of a command with no harm done. */
export async function runUndisturbed(
  bench: CommandBench,
  line: readonly string[],
): Promise<Outcome> {
  start(bench);
  return ended(bench, [await bench.run([...line, ...patience])]);
}

/** Runs a command under an attack. */
export async function carryOut(
  bench: CommandBench,
  { line, dryRun }: Pick<CommandCase, "line" | "dryRun">,
  attack: Attack,
): Promise<Outcome> {
  start(bench);
  const usual = [...line, ...patience];
  switch (attack.kind) {
    case "kill":
      return killed(bench, usual, attack);
    case "answer":
      return withRules(bench, answering(attack.at, attack.status), usual);
    case "right": {
      const { limited } = placeOf(bench, attack.cluster);
      await limited.take(attack.right);
      const ran = await bench.run(usual, { isLimited: true });
      await limited.take(undefined);
      return ended(bench, [ran]);
    }
    case "twice":
      return ended(bench, await Promise.all([bench.run(usual), bench.run(usual)]));
    case "slow":
      // With the time limits that the command has by itself.
      return withRules(bench, slowing(attack.cluster), line);
    case "dead":
      return withRules(bench, hanging(attack), [...line, ...shortly]);
    case "dry run":
    default:
      return runUndisturbed(bench, dryRun);
  }
}

function start({ log, places }: CommandBench): void {
  log.restart();
  for (const { proxy } of places) proxy.resetCounts();
}

function ended({ log }: CommandBench, runs: readonly Ran[]): Outcome {
  const writes = log.writes.filter(
    ({ path, status }) => isChange({ path }) && status !== undefined,
  );
  log.restart();
  return { runs, writes };
}

function placeOf({ places }: CommandBench, name: string): Place {
  const found = places.find(({ cluster }) => cluster.name === name);
  if (found === undefined) throw new Error(`The bench has no cluster ${name}`);
  return found;
}

async function killed(
  bench: CommandBench,
  line: readonly string[],
  { write, side }: Extract<Attack, { readonly kind: "kill" }>,
): Promise<Outcome> {
  const ran = await bench.run(line, {
    during: (child) => {
      const kill = (): void => void child.kill("SIGKILL");
      bench.log.restart({ write, side, kill, isMeant: isChange });
    },
  });
  return ended(bench, [ran]);
}

/** Makes a rule for the requests to each cluster; they may share a count. */
type RuleMaker = (cluster: string) => Rule;

async function withRules(
  bench: CommandBench,
  ruleOf: RuleMaker,
  line: readonly string[],
): Promise<Outcome> {
  using rules = new DisposableStack();
  for (const { cluster, proxy } of bench.places) rules.use(proxy.inject(ruleOf(cluster.name)));
  return ended(bench, [await bench.run(line)]);
}

function answering(at: Moment, status: 403 | 409 | 503): RuleMaker {
  let writes = 0;
  let isDone = false;
  const isMeant = (cluster: string, seen: Seen): boolean => {
    if (!("write" in at)) {
      const { method, path } = seen;
      return cluster === at.cluster && method === at.method && stablePath(path) === at.path;
    }
    if (!isWrite(seen)) return false;
    writes += 1;
    return writes === at.write;
  };
  return (cluster) => (seen) => {
    if (isDone || !isMeant(cluster, seen)) return undefined;
    isDone = true;
    if (status === 403) return failure(403, "Forbidden", deniedText(seen));
    if (status === 409) return failure(409, "Conflict", "the object has been modified");
    return failure(
      503,
      "ServiceUnavailable",
      "the server is currently unable to handle the request",
    );
  };
}

function slowing(slow: string): RuleMaker {
  return (cluster) => () => (cluster === slow ? { kind: "pass", delayMs: slowMs } : undefined);
}

function hanging({
  cluster: dead,
  afterWrite,
}: Extract<Attack, { readonly kind: "dead" }>): RuleMaker {
  let writes = 0;
  return (cluster) => (seen) => {
    const isOver = writes >= afterWrite;
    if (isWrite(seen)) writes += 1;
    return isOver && cluster === dead ? { kind: "hang" } : undefined;
  };
}
