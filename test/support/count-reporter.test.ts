import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { ended } from "./ended.ts";

const root = resolve(import.meta.dirname, "..", "..");

// Behind two slashes Vitest would take it for the tag of this file.
const moduleTag = "@module-tag";

// Real runs of vitest in a small project of their own.
describe("with KNFLEET_RETRY", () => {
  let project: string;

  beforeEach(async () => {
    project = await mkdtemp(join(tmpdir(), "knfleet-reporter-"));
    await mkdir(join(project, "test"));
    await symlink(join(root, "node_modules"), join(project, "node_modules"));
    for (const file of ["bootstrap.js", "package.json", "package-lock.json"]) {
      await copyFile(join(root, file), join(project, file));
    }
    const reporter = join(root, "test", "support", "count-reporter.ts");
    const projects = [
      { test: { name: "unit", include: ["test/*.unit.ts"] } },
      { test: { name: "fleet", include: ["test/*.fleet.ts"] } },
    ];
    const tags = [
      { name: "files", description: "files, which are not here", skip: true },
      { name: "clock", description: "a clock", skip: false },
    ];
    const config = { test: { reporters: [reporter], tags, projects } };
    await put("vitest.config.ts", `export default ${JSON.stringify(config)};`);
    await put(
      "test/steady.unit.ts",
      `import { test } from "vitest"; test("is steady", () => undefined);`,
    );
  });

  afterEach(() => rm(project, { recursive: true, force: true }));

  test("a file on real clusters that failed is run once more, whole, and named", async () => {
    await put("test/once.fleet.ts", failing("once", "existsSync(mark)"));
    const { code, stdout, stderr } = await run({ KNFLEET_RETRY: "1" });
    expect({ code, counts: countsIn(stdout) }).toEqual({
      code: 0,
      counts: ["2 passed, 1 failed", "3 passed, 0 failed"],
    });
    expect(stderr).toContain("Trying again on fresh clusters: test/once.fleet.ts\n");
    expect(stdout).toContain("Passed only when tried again: test/once.fleet.ts > once: not yet\n");
  });

  test("what fails twice has failed", async () => {
    await put("test/never.fleet.ts", failing("never", "false"));
    const { code, stdout } = await run({ KNFLEET_RETRY: "1" });
    expect({ code, counts: countsIn(stdout) }).toEqual({
      code: 1,
      counts: ["2 passed, 1 failed", "2 passed, 1 failed"],
    });
    expect(stdout).toContain("Failed twice: test/never.fleet.ts > never: not yet\n");
  });

  test("a file whose set-up failed is run once more", async () => {
    await put(
      "test/hook.fleet.ts",
      `import { beforeAll } from "vitest";\n${failing("hook", "true")}\nbeforeAll(() => {
        if (!existsSync(mark + "-hook")) { writeFileSync(mark + "-hook", ""); throw new Error("no cluster"); }
      });`,
    );
    const { code, stdout } = await run({ KNFLEET_RETRY: "1" });
    expect({ code, last: countsIn(stdout).at(-1) }).toEqual({
      code: 0,
      last: "3 passed, 0 failed",
    });
    expect(stdout).toContain("Passed only when tried again: test/hook.fleet.ts");
  });

  test("a unit test that fails ends the run, and so does a failure without it", async () => {
    await put("test/once.unit.ts", failing("once", "existsSync(mark)"));
    expect(await run({ KNFLEET_RETRY: "1" })).toMatchObject({ code: 1 });
    await put("test/once.fleet.ts", failing("once", "existsSync(mark + 1)"));
    const { code, stdout } = await run({});
    expect({ code, counts: countsIn(stdout) }).toEqual({ code: 1, counts: ["4 passed, 1 failed"] });
    expect(stdout).toContain("\nSo far: 3 passed, 0 failed\n");
  });

  test("tests whose need is not met are left out, counted and named with their files", async () => {
    const broken = `() => { throw new Error("ran"); }`;
    await put(
      "test/needy.unit.ts",
      `// ${moduleTag} files
       import { beforeAll, test } from "vitest";
       beforeAll(${broken});
       test.each([1, 2])("needs files %s", ${broken});`,
    );
    await put(
      "test/mixed.fleet.ts",
      `${failing("once", "existsSync(mark)")}
       test("has a clock", { tags: ["clock"] }, () => undefined);
       test("needs files", { tags: ["files"] }, ${broken});`,
    );
    const { code, stdout } = await run({ KNFLEET_RETRY: "1" });
    expect(code).toBe(0);
    const lines = [
      "3 tests need files, which are not here",
      "  1 in test/mixed.fleet.ts",
      "  2 in test/needy.unit.ts",
      "4 passed, 0 failed, 3 skipped\n",
    ];
    expect(stdout.endsWith(`\n${lines.join("\n")}`)).toBe(true);
    expect(stdout.match(/which are not here/gu)).toHaveLength(2);
  });

  function put(path: string, text: string): Promise<void> {
    return writeFile(join(project, path), text);
  }

  function run(env: Readonly<Record<string, string>>) {
    const { PATH = "" } = process.env;
    const args = [join(project, "bootstrap.js"), "test"];
    return ended(spawn(process.execPath, args, { cwd: project, env: { PATH, ...env } }));
  }
});

function countsIn(stdout: string): readonly string[] {
  return [...stdout.matchAll(/^\d+ passed, \d+ failed.*$/gmu)].map(([line]) => line);
}

/** Two tests: one that passes, and one that passes where the condition holds; the file leaves a mark behind. */
function failing(name: string, condition: string): string {
  return `import { existsSync, writeFileSync } from "node:fs";
    import { expect, test } from "vitest";
    const mark = import.meta.filename + ".mark";
    const isFine = ${condition};
    writeFileSync(mark, "");
    test("passes", () => undefined);
    test("${name}", () => { if (!isFine) throw new Error("not yet"); });`;
}
