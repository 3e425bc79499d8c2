import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe, expect, test } from "vitest";

import { shellStart } from "../../../../../cmd/kubectl/commands/connect/connect.ts";

const folder = mkdtempSync(join(tmpdir(), "knfleet-shell-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const place = { cluster: "fleet/eu-1", folder, home: folder };

describe("the prompt", () => {
  // `sh` and `bash` are on every machine that runs these tests; other shells where they are.
  const shells = ["/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/fish"].filter(existsSync);

  test.each(shells)("of %s shows the cluster", (shell) => {
    const { args, env, files } = shellStart(shell, place);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const input = shell.endsWith("fish") ? "fish_prompt\n" : 'echo "<${PS1:-$PROMPT}>"\n';
    const { PATH = "" } = process.env;
    const stdout = execFileSync(shell, args, {
      input,
      env: { PATH, HOME: folder, ...env },
      stdio: ["pipe", "pipe", "ignore"],
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(stdout).toContain("(fleet/eu-1) ");
  });

  test("of bash keeps what its owner has set", () => {
    const { args, files } = shellStart("/bin/bash", place);
    writeFileSync(join(folder, ".bashrc"), "PS1='mine$ '\nMINE=1\n");
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const { PATH = "" } = process.env;
    const stdout = execFileSync("/bin/bash", args, {
      input: 'echo "<$PS1$MINE>"\n',
      env: { PATH, HOME: folder },
      stdio: ["pipe", "pipe", "ignore"],
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(stdout).toContain("<(fleet/eu-1) mine$ 1>");
  });

  test("a shell that is not known is started as it is", () => {
    expect(shellStart("/usr/bin/nu", place)).toEqual({ args: [], env: {}, files: {} });
  });
});
