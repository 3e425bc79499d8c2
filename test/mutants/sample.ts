import { createHash } from "node:crypto";
import { basename } from "node:path";
import { env } from "node:process";

interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly location: { readonly start: Position; readonly end: Position };
  readonly replacement: string;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

const checker = {
  init: () => Promise.resolve(),
  check: (mutants: readonly Mutant[]) =>
    Promise.resolve(Object.fromEntries(mutants.map((mutant) => [mutant.id, verdictOf(mutant)]))),
};

/** Loaded by StrykerJS in a process of its own: refuses the changes that are not in the sample, before any test runs. */
export const strykerPlugins = [{ kind: "Checker", name: "sample", factory: () => checker }];

function verdictOf({ fileName, location: { start, end }, replacement }: Mutant) {
  const place = `${basename(fileName)} ${start.line}:${start.column} ${end.line}:${end.column}`;
  return isInSample(`${place} ${replacement}`)
    ? { status: "passed" }
    : { status: "compileError", reason: "not in the sample" };
}

/** The same text has the same answer in each run, so that a sample can be measured again. */
function isInSample(text: string): boolean {
  const percent = Number(env["KNFLEET_MUTANTS_SAMPLE"] ?? "100");
  const seed = env["KNFLEET_MUTANTS_SEED"] ?? "1";
  const digest = createHash("sha256").update(`${seed} ${text}`).digest();
  return digest.readUInt32BE(0) < (percent / 100) * 2 ** 32;
}
