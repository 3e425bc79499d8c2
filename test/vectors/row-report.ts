import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { fieldsOf, listOf, textOf } from "./access-cases.ts";
import { filesByRow, rowsIn } from "./section-rows.ts";
import type { FolderResult, Verdict } from "./verdict.ts";

const root = resolve(import.meta.dirname, "../..");
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");

interface TestResult {
  readonly name: string;
  readonly passed: boolean;
  readonly details: string;
}

/** Runs the tests that carry numbers of section 8, and calls `report` with a verdict for each number. */
export async function runSectionRows(
  rows: readonly string[],
  report: (verdict: Verdict) => void,
): Promise<FolderResult> {
  const byRow = await filesByRow();
  const files = new Set(rows.flatMap((row) => byRow.get(row) ?? []));
  const results = files.size === 0 ? [] : await resultsOf([...files], rows);
  const total = { equal: 0, different: 0, wrong: 0 };
  for (const row of rows) {
    const own = results.filter(({ name }) => rowsIn(name).includes(row));
    const verdict = verdictOn(row, own);
    total[verdict.kind] += 1;
    report(verdict);
  }
  return total;
}

function verdictOn(row: string, results: readonly TestResult[]): Verdict {
  const name = `section-8/${row} (${results.length} ${results.length === 1 ? "test" : "tests"})`;
  const failed = results.filter(({ passed }) => !passed);
  if (results.length === 0 || failed.length > 0) {
    const details = failed.map((test) => `${test.name}\n${test.details}`).join("\n");
    return { name, kind: "wrong", defects: [], details: details || "No test of it was run" };
  }
  const reasons = results.flatMap((test) => /on purpose: ([\w-]+)/.exec(test.name)?.[1] ?? []);
  const defects = [...new Set(reasons)];
  return { name, kind: defects.length === 0 ? "equal" : "different", defects, details: "" };
}

/** What became of the tests of some files whose names hold one of the numbers. */
async function resultsOf(
  files: readonly string[],
  rows: readonly string[],
): Promise<readonly TestResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-rows-"));
  try {
    const output = join(folder, "results.json");
    const reporter = ["--reporter=json", `--outputFile=${output}`];
    const pattern = ["--testNamePattern", `\\b(?:${rows.join("|")})\\b`];
    const args = [vitest, "run", "--project", "unit", ...reporter, ...pattern, ...files];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
    const told = child.stderr
      .setEncoding("utf8")
      .reduce((all: string, text: string) => all + text, "");
    await once(child, "close");
    const text = await readFile(output, "utf8").catch(() => "");
    if (text === "") throw new Error(`vitest gave no results: ${await told}`);
    return testsIn(JSON.parse(text));
  } finally {
    await rm(folder, { recursive: true });
  }
}

function testsIn(results: unknown): readonly TestResult[] {
  return listOf(fieldsOf(results)["testResults"])
    .map(fieldsOf)
    .flatMap((file) => {
      const tests = listOf(file["assertionResults"]).map(fieldsOf);
      return tests
        .filter(({ status }) => status === "passed" || status === "failed")
        .map(({ fullName, status, failureMessages }) => ({
          name: textOf(fullName),
          passed: status === "passed",
          details: listOf(failureMessages).map(String).join("\n"),
        }));
    });
}
