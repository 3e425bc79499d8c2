import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { changeKubeconfig } from "../../../../../cmd/kubectl/commands/kubeconfig/merged-kubeconfig.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-kubeconfig-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const to = (text: string) => (): Promise<string> => Promise.resolve(text);

test("a new file and its folder are its owner's alone", async () => {
  const path = join(folder, ".kube", "config");
  await changeKubeconfig(path, to("new"));
  expect(await readFile(path, "utf8")).toBe("new");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, ".kube"))).mode & 0o777).toBe(0o700);
  expect(await readdir(join(folder, ".kube"))).toEqual(["config"]);
});

test.each([0o644, 0o640, 0o602])(
  "a file with mode %o is refused and stays as it is",
  async (mode) => {
    const path = join(folder, "config");
    await writeFile(path, "old");
    await chmod(path, mode);
    await expect(changeKubeconfig(path, to("new"))).rejects.toThrow("open to others");
    expect(await readFile(path, "utf8")).toBe("old");
  },
);

test("a link is followed and stays a link", async () => {
  const [path, link] = [join(folder, "config"), join(folder, "link")];
  await writeFile(path, "old", { mode: 0o600 });
  await symlink(path, link);
  await changeKubeconfig(link, (text) => Promise.resolve(`${text} and new`));
  expect(await readFile(path, "utf8")).toBe("old and new");
});

test("a link to a file that others read is refused, too", async () => {
  const [path, link] = [join(folder, "config"), join(folder, "link")];
  await writeFile(path, "old", { mode: 0o644 });
  await symlink(path, link);
  await expect(changeKubeconfig(link, to("new"))).rejects.toThrow("open to others");
});

test("a folder is refused", async () => {
  await expect(changeKubeconfig(folder, to("new"))).rejects.toThrow("is no plain file");
});

test("while kubectl writes the file it is left alone", async () => {
  const path = join(folder, "config");
  await writeFile(`${path}.lock`, "");
  await expect(changeKubeconfig(path, to("new"))).rejects.toThrow("being changed by somebody else");
  expect(await readdir(folder)).toEqual(["config.lock"]);
});

test("nothing is left behind when the change fails", async () => {
  const path = join(folder, "config");
  await expect(changeKubeconfig(path, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await readdir(folder)).toEqual([]);
});
