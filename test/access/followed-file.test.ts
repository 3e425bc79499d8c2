import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { followFile } from "../../access/followed-file.ts";
import { FakeClock } from "../support/fake-clock.ts";

/** Follows a file that is read as these answers say, one after the other; the last one counts on. */
async function followed(...answers: readonly ("valid" | "unreadable")[]) {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-followed-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "file");
  for (const name of ["one", "two"]) await writeFile(join(folder, name), name);
  await symlink("one", path);
  const clock = new FakeClock();
  const end = new AbortController();
  const told: string[] = [];
  let reads = 0;
  const load = (): Promise<string> => {
    const answer = answers[Math.min(reads, answers.length - 1)];
    reads += 1;
    return answer === "valid" ? Promise.resolve("text") : Promise.reject(new Error("EMFILE"));
  };
  const following = followFile(
    path,
    {
      clock,
      load,
      known: "text",
      onChange: () => told.push("changed"),
      onValid: () => told.push("valid"),
      onInvalid: () => told.push("invalid"),
    },
    end.signal,
  );
  onTestFinished(async () => {
    end.abort();
    await following;
  });
  /** Looks at the file so often. */
  const looks = async (times: number): Promise<void> => {
    for (let look = 0; look < times; look += 1) {
      // The state of the file comes from the disk, in its own time.
      await expect.poll(() => clock.pending, { interval: 1 }).toBe(1);
      await clock.advance(500);
    }
    await expect.poll(() => clock.pending, { interval: 1 }).toBe(1);
  };
  /** Lets the path lead to another file, at once. */
  const link = async (name: string): Promise<void> => {
    await symlink(name, join(folder, "next"));
    await rename(join(folder, "next"), path);
  };
  return { link, told, looks, reads: () => reads };
}

test("a file that could not be read is read again, although it has not changed", async () => {
  const { told, looks } = await followed("unreadable", "unreadable", "valid");
  await looks(4);
  expect(told).toEqual(["invalid", "valid"]);
});

test("a file that stays unreadable is read ever more rarely, and at once when it changes", async () => {
  const { link, told, looks, reads } = await followed("unreadable");
  // After half a second, one, two, four, eight and then ten.
  await looks(1 + 1 + 2 + 4 + 8 + 16 + 20 + 20);
  expect(told).toEqual(["invalid"]);
  expect(reads()).toBe(8);
  await link("two");
  await looks(2);
  expect(told).toEqual(["invalid", "invalid"]);
  expect(reads()).toBe(10);
});

test("a file that stays as it is is read once when it is valid", async () => {
  const { told, looks, reads } = await followed("valid");
  await looks(4);
  expect(told).toEqual(["valid"]);
  expect(reads()).toBe(1);
});

test("a file that is put back as it was is valid again", async () => {
  const { link, told, looks } = await followed("valid", "unreadable", "valid");
  await looks(1);
  await link("two");
  await looks(1);
  await link("one");
  await looks(2);
  expect(told).toEqual(["valid", "invalid", "valid"]);
});
