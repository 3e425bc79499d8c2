import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { bundle, filesFrom } from "../../cmd/build/bundle.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "knfleet-bundle-"));
  await mkdir(join(root, "cmd"));
  const manifest = { name: "a", version: "1.0.0", type: "module", devDependencies: { b: "2.0.0" } };
  await write("package.json", JSON.stringify(manifest));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const write = (file: string, text: string) => writeFile(join(root, file), text);
const program = (text: string) => write("cmd/program.ts", `#!/usr/bin/env node\n${text}`);

test.each([
  { text: 'import "./away.ts";', says: "./away.ts" },
  { text: 'import { a } from "no-such-package"; console.log(a);', says: "no-such-package" },
  { text: 'console.log(await import("no-such-package"));', says: "no-such-package" },
  { text: "console.log(import.meta.url);", says: "asks for its own place" },
  {
    text: 'new Worker(new URL("no-thread.ts", import.meta.url));',
    says: "starts no file",
  },
])("refuses what would not run: $text", async ({ text, says }) => {
  await program(text);
  await expect(bundle(root)).rejects.toThrow(says);
});

test("keeps threads beside the chunk that starts them, and of package.json only name and version", async () => {
  await write("cmd/count-thread.ts", "console.log(1 as number);");
  await write(
    "cmd/lazy.ts",
    `import own from "../package.json" with { type: "json" };
     export const start = () => [own, new Worker(new URL("count-thread.ts", import.meta.url))];`,
  );
  await program('const { start } = await import("./lazy.ts"); start();');
  const files = await bundle(root);
  const entries = files.filter(({ isEntry }) => isEntry).map(({ name }) => name);
  expect(entries.toSorted()).toEqual(["chunks/count-thread.js", "program.js"]);
  const lazy = files.find(({ modules }) => modules.includes("cmd/lazy.ts"));
  expect(lazy?.name).toMatch(/^chunks\/lazy-.+\.js$/);
  expect(lazy?.code).toContain('new URL("count-thread.js", import.meta.url)');
  expect(files.map(({ code }) => code).join("\n")).not.toContain("devDependencies");
});

test("knows what is loaded with a program, and what later", async () => {
  await write("cmd/lazy.ts", 'import { a } from "./both.ts"; console.log(a);');
  await write("cmd/both.ts", "export const a = Math.random();");
  await program('import { a } from "./both.ts"; if (a > 2) await import("./lazy.ts");');
  const files = await bundle(root);
  const modules = (lazy: boolean) =>
    filesFrom(files, "program.js", { lazy }).flatMap((file) => file.modules);
  expect(modules(false)).not.toContain("cmd/lazy.ts");
  expect(modules(true)).toEqual(expect.arrayContaining(["cmd/lazy.ts", "cmd/both.ts"]));
  expect(() => filesFrom(files, "nothing.js", { lazy: true })).toThrow("no nothing.js");
});
