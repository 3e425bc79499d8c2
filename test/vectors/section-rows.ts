import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

const tests = resolve(import.meta.dirname, "..");
// They hold recordings to the number in a file's name, and this list itself.
const notTests = /^vectors\/|\.fleet\.test\.ts$/;

// How many vectors each part of section 8 of cluster-inventory.md has: resolution, plugin runs, credentials, transport,
// life of connections, decisions about placement.
const counts = { R: 56, X: 35, C: 14, T: 12, L: 10, D: 8 } as const;

/** The numbers of all vectors of section 8. */
export const sectionRows: readonly string[] = Object.entries(counts).flatMap(([letter, count]) =>
  Array.from({ length: count }, (_, at) => `${letter}${String(at + 1).padStart(2, "0")}`),
);

/** Numbers in the name of a test. */
export function rowsIn(text: string): readonly string[] {
  const found = text.match(/\b[RXCTLD]\d{2}\b/g) ?? [];
  return [...new Set(found)].filter((row) => sectionRows.includes(row));
}

/** Test files of this project by the numbers that their texts hold, other than in comments. */
export async function filesByRow(): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = await readdir(tests, { recursive: true });
  const files = names.filter((name) => name.endsWith(".test.ts") && !notTests.test(name));
  const byRow = new Map<string, string[]>(sectionRows.map((row) => [row, []]));
  await Promise.all(
    files.map(async (name) => {
      const text = await readFile(join(tests, name), "utf8");
      const code = text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, "");
      for (const row of rowsIn(code)) byRow.get(row)?.push(join(tests, name));
    }),
  );
  return byRow;
}
