import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  environmentOf,
  manifestFolder,
  objectsOf,
  readInputText,
} from "../../../../cmd/kubectl/selection/input-files.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-render-"));
  await mkdir(join(folder, "manifests", "1.23.0"), { recursive: true });
  await writeFile(join(folder, "secret"), "secret");
  await writeFile(join(folder, "manifests", "1.23.0", "a.yaml"), "a: 1");
  await symlink(join(folder, "secret"), join(folder, "manifests", "link"));
  await symlink("1.23.0/a.yaml", join(folder, "manifests", "inner"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("a folder of manifests", () => {
  test.each([
    "file:1.23.0/a.yaml",
    "@CASE_DIR@/1.23.0/a.yaml",
    "file:inner",
    "file:/1.23.0/a.yaml",
  ])("has %s", async (url) => {
    expect(await manifestFolder(join(folder, "manifests"))(url)).toBe("a: 1");
  });

  test.each([
    "file:missing.yaml",
    "file:../secret",
    "file:link",
    "file:1.23.0",
    "file:",
    "file:\0",
    "https://example.com/a.yaml",
    "/etc/hostname",
    "@CASE_DIR@/../../secret",
  ])("has no %j", async (url) => {
    const text = manifestFolder(join(folder, "manifests"))(url);
    await expect(text).rejects.toMatchObject({ reason: "ManifestInvalid" });
  });
});

describe("an input file", () => {
  const { signal } = new AbortController();

  test("is read as text, or from a stream instead", async () => {
    const stream = Readable.from([Buffer.from("é"), "b"]);
    expect(await readInputText({ path: join(folder, "secret"), flag: "-f" }, signal)).toBe(
      "secret",
    );
    expect(await readInputText({ path: "-", flag: "-f", stream }, signal)).toBe("éb");
  });

  test.each([
    { path: "nowhere", says: "-f nowhere: cannot be read (ENOENT)" },
    { path: tmpdir(), says: `-f ${tmpdir()}: cannot be read (EISDIR)` },
    { path: "/dev/zero", says: "-f /dev/zero: is larger than 16 MiB" },
  ])("$path is refused", async ({ path, says }) => {
    await expect(readInputText({ path, flag: "-f" }, signal)).rejects.toMatchObject({
      problems: [says],
    });
  });

  test("is waited for no longer than asked", async () => {
    const stop = new AbortController();
    const waiting = readInputText(
      { path: "-", flag: "-f", stream: new Readable({ read() {} }) },
      stop.signal,
    );
    stop.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
  });
});

describe("further files", () => {
  test("are the controller's environment", () => {
    expect(environmentOf('{"A": "b"}', "env")).toEqual({ A: "b" });
  });

  test.each([
    { text: "[]", says: ["env: must be object"] },
    { text: "{", says: ["env: is not JSON"] },
    { text: '{"A": 1, "B": null}', says: ["env: A: must be string", "env: B: must be string"] },
  ])("are no environment: $text", ({ text, says }) => {
    expect(() => environmentOf(text, "env")).toThrow(says.join("\n"));
  });

  test("are objects of a cluster", () => {
    expect(objectsOf("apiVersion: v1\nkind: A\nmetadata: {name: x}\n", "live")).toHaveLength(1);
    expect(() => objectsOf("a: 1\n---\nkind: A\n", "live")).toThrow(
      "live, document 1: is not a Kubernetes object with apiVersion, kind and name\nlive, document 2: is not",
    );
  });
});
