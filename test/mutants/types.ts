import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { projectRoot } from "../support/needs.ts";

export interface Change {
  /** From the root of the project. */
  readonly file: string;
  /** What the file holds with the change. */
  readonly text: string;
}

const notCopied = new Set([".git", "node_modules", "dist", "dist-executable", "releases"]);

/**
 * The changes that the compiler accepts, asked in a copy of the project at `folder`. Each stands there as a file of its own beside what it changes, so that
 * the compiler runs once. Where a file with a private class has errors as an unchanged copy too, all of its changes count as accepted.
 */
export function compilableChanges<T extends Change>(
  changes: readonly T[],
  folder: string,
): readonly T[] {
  cpSync(projectRoot, folder, {
    recursive: true,
    filter: (path) => !notCopied.has(basename(path)),
  });
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  changes.forEach(({ file, text }, index) => {
    writeFileSync(join(folder, copyOf(file, `${index}`)), text);
    writeFileSync(join(folder, copyOf(file, "same")), readFileSync(join(folder, file)));
  });
  const compiler = join(projectRoot, "node_modules/typescript/bin/tsc");
  const { status, stdout, stderr } = spawnSync(process.execPath, [compiler, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (status === null || stderr !== "") throw new Error(`The compiler did not end: ${stderr}`);
  const refused = new Set(stdout.split("\n").map((line) => line.split("(")[0]));
  return changes.filter(
    ({ file }, index) =>
      refused.has(copyOf(file, "same")) || !refused.has(copyOf(file, `${index}`)),
  );
}

function copyOf(file: string, name: string): string {
  return file.replace(/\.ts$/, `.changed-${name}.ts`);
}
