import { differencesOf } from "../../support/spoke-dump.ts";
import { isWrite } from "../fault.ts";
import type { FaultResult } from "../trial.ts";
import { askedWrites, brokenLaws, isSame, type Shapes } from "./attack-rules.ts";
import { type AskedRequests, attackText, type Trial, trialsOf } from "./attack.ts";
import { carryOut, type Outcome, runUndisturbed } from "./carry-out.ts";
import type { CommandBench } from "./command-bench.ts";
import { type CommandCase, titleOf } from "./command-case.ts";
import type { Shape } from "./shape.ts";

/** What a command does when nobody disturbs it. */
interface Undisturbed extends AskedRequests {
  readonly before: Shape;
  readonly after: Shape;
  /** After the counterpart; as before when there is none. */
  readonly takenBack: Shape;
}

interface Choice {
  /** Takes some of all trials. */
  readonly choose: (trials: readonly Trial[]) => readonly Trial[];
  readonly onResult?: (result: FaultResult) => void;
}

/** Attacks a command in the ways that `choose` takes of all. A failure is a row, not an error. */
export async function tryCommand(
  bench: CommandBench,
  one: CommandCase,
  { choose, onResult = () => undefined }: Choice,
): Promise<readonly FaultResult[]> {
  await using _beside = one.beside?.(bench);
  const usual = await undisturbed(bench, one);
  const results: FaultResult[] = [];
  for (const trial of choose(trialsOf(one, usual))) {
    const broken = await tryTrial(bench, one, { trial, usual }).catch((error: unknown) => [
      error instanceof Error ? error.message : String(error),
    ]);
    const result = rowOf(one, trial, broken);
    onResult(result);
    results.push(result);
  }
  return results;
}

function rowOf(one: CommandCase, { attack, sequel }: Trial, notes: readonly string[]): FaultResult {
  const then = sequel === "again" ? "" : `, then ${one.counterpart?.[0] ?? ""}`;
  return {
    id: "",
    fault: `${titleOf(one)}: ${attackText(attack)}${then}`,
    survived: notes.length === 0,
    late: [],
    convergeMs: undefined,
    notes,
  };
}

async function undisturbed(bench: CommandBench, one: CommandCase): Promise<Undisturbed> {
  await bench.clear();
  await one.prepare(bench);
  const before = await bench.shape();
  const first = await runUndisturbed(bench, one.line);
  const reads = bench.places.flatMap(({ cluster, proxy }) =>
    proxy.requests
      .filter((seen) => !isWrite(seen))
      .map((seen) => ({ ...seen, cluster: cluster.name })),
  );
  const problems = wrongRun(one, first);
  if (problems.length > 0) throw new Error(`${titleOf(one)}: ${problems.join("; ")}`);
  const after = await bench.shape();
  if (one.counterpart !== undefined) await runUndisturbed(bench, one.counterpart);
  const takenBack = one.counterpart === undefined ? before : await bench.shape();
  return { before, after, takenBack, reads, writes: askedWrites(first) };
}

interface Tried {
  readonly trial: Trial;
  readonly usual: Undisturbed;
}

async function tryTrial(
  bench: CommandBench,
  one: CommandCase,
  { trial: { attack, sequel }, usual }: Tried,
): Promise<readonly string[]> {
  await makeReady(bench, one, usual);
  const outcome = await carryOut(bench, one, attack);
  const shapes: Shapes = { ...usual, now: await bench.shape() };
  const broken = [...brokenLaws(one, attack, { outcome, shapes })];
  const isWell = outcome.runs.some(({ exitCode }) => exitCode === 0) && attack.kind !== "dry run";
  if (isWell) broken.push(...((await one.faultsAfter?.(bench)) ?? []));
  if (sequel === "again") broken.push(...(await secondRun(bench, one, usual)));
  if (one.counterpart !== undefined) {
    broken.push(...(await takeBack(bench, one.counterpart, usual)));
  }
  return broken;
}

/** Makes the clusters as they were before the undisturbed run, mostly without making everything anew. */
async function makeReady(
  bench: CommandBench,
  one: CommandCase,
  { before }: Undisturbed,
): Promise<void> {
  await one.prepare(bench);
  if (isSame(await bench.shape(), before)) return;
  await bench.clear();
  await one.prepare(bench);
  const differences = differencesOf(await bench.shape(), before);
  if (differences.length > 0) throw new Error(`Not prepared: ${shortly(differences).join("; ")}`);
}

/** The command again ends as an undisturbed one. */
async function secondRun(
  bench: CommandBench,
  one: CommandCase,
  { after }: Undisturbed,
): Promise<readonly string[]> {
  if (one.isOnce === true && isSame(await bench.shape(), after)) return [];
  const outcome = await runUndisturbed(bench, one.line);
  const now = Object.entries(await bench.shape()).filter(([id]) => one.expires?.test(id) !== true);
  const differences = differencesOf(Object.fromEntries(now), after);
  return [
    ...wrongRun(one, outcome),
    ...shortly(differences).map((text) => `After the second run: ${text}`),
    ...((await one.faultsAfter?.(bench)) ?? []),
  ];
}

async function takeBack(
  bench: CommandBench,
  line: readonly string[],
  { takenBack }: Undisturbed,
): Promise<readonly string[]> {
  const { runs } = await runUndisturbed(bench, line);
  // Who did what is told where it was written, and a command that has nothing to take back writes nothing.
  const differences = differencesOf(await bench.shape(), takenBack).filter(
    (text) => !text.includes("knfleet.dev/did."),
  );
  const said = runs.map(({ stderr }) => stderr.trim()).join("\n");
  return shortly(differences).map((text) => `After ${line.join(" ")}: ${text}; it said: ${said}`);
}

function wrongRun({ exitCode = 0 }: CommandCase, { runs }: Outcome): readonly string[] {
  return runs
    .filter((ran) => ran.exitCode !== exitCode)
    .map(({ exitCode: code, stdout, stderr }) => {
      const said = `${stdout}${stderr}`.trim().slice(-600);
      return `An undisturbed run ended with ${code}: ${said}`;
    });
}

/** What differs, without the whole objects. */
function shortly(differences: readonly string[]): readonly string[] {
  return differences.map((text) => (text.length > 160 ? `${text.slice(0, 160)}…` : text));
}
