import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { ProviderFile } from "../../../access/providers/provider-config.ts";
import { loadProviderFile, watchProviderFile } from "../../../access/providers/provider-file.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { rawProvider } from "../builders.ts";

let folder: string;
let stop: AbortController;
let names: string[][];
let failures: number;
let goods: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-providers-"));
  stop = new AbortController();
  names = [];
  failures = 0;
  goods = 0;
});

afterEach(async () => {
  stop.abort();
  await rm(folder, { recursive: true });
});

function content(...providers: readonly string[]): string {
  return JSON.stringify({ providers: providers.map((name) => rawProvider(name)) });
}

async function watching(path: string): Promise<void> {
  const watch = {
    clock: systemClock,
    known: await loadProviderFile({ path }, stop.signal),
    onChange: ({ providers }: ProviderFile) => names.push(providers.map(({ name }) => name)),
    onValid: () => {
      goods += 1;
    },
    onInvalid: () => {
      failures += 1;
    },
  };
  // Ends when the test aborts it.
  void watchProviderFile({ path }, watch, stop.signal);
}

test("a file that is not there is refused with its path", async () => {
  await expect(
    loadProviderFile({ path: join(folder, "none.json") }, stop.signal),
  ).rejects.toMatchObject({
    reason: "ConfigInvalid",
    code: "ProviderFileUnreadable",
    message: expect.stringContaining(join(folder, "none.json")),
  });
});

test("a change of the file is told, the same content is not", async () => {
  const path = join(folder, "providers.json");
  await writeFile(path, content("a"));
  await watching(path);
  await writeFile(path, content("a"));
  await writeFile(path, content("b"));
  await vi.waitFor(() => expect(names.at(-1)).toEqual(["b"]), { timeout: 60_000 });
  expect(names).toEqual([["b"]]);
});

test("a half-written file is told as invalid, the complete one as changed", async () => {
  const path = join(folder, "providers.json");
  await writeFile(path, content("a"));
  await watching(path);
  await writeFile(path, content("b").slice(0, 30));
  await vi.waitFor(() => expect(failures).toBe(1), { timeout: 60_000 });
  expect(names).toEqual([]);
  await writeFile(path, content("b"));
  await vi.waitFor(() => expect(names).toEqual([["b"]]), { timeout: 60_000 });
});

test("a file that became what it was is told as valid (L10, T-28)", async () => {
  const path = join(folder, "providers.json");
  await writeFile(path, content("a"));
  await watching(path);
  await writeFile(path, "[");
  await vi.waitFor(() => expect(failures).toBe(1), { timeout: 60_000 });
  const before = goods;
  await writeFile(path, content("a"));
  await vi.waitFor(() => expect(goods).toBe(before + 1), { timeout: 60_000 });
  expect(names).toEqual([]);
});

test("a mounted ConfigMap that is swapped by symlink is told", async () => {
  for (const [version, name] of [
    ["v1", "a"],
    ["v2", "b"],
  ] as const) {
    await mkdir(join(folder, version));
    await writeFile(join(folder, version, "providers.json"), content(name));
  }
  await symlink("v1", join(folder, "..data"));
  await symlink("..data/providers.json", join(folder, "providers.json"));
  await watching(join(folder, "providers.json"));
  await symlink("v2", join(folder, "..tmp"));
  await rename(join(folder, "..tmp"), join(folder, "..data"));
  await vi.waitFor(() => expect(names).toEqual([["b"]]), { timeout: 60_000 });
});
