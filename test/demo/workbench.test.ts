import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { runProgram } from "./run-program.ts";
import { openWorkbench } from "./workbench.ts";

const signal = new AbortController().signal;

test.each(["/cache/releases-1", "/home/me/it's here"])(
  "the demo's shell, and the lines for another one, name the releases in %s",
  async (releaseDir) => {
    const folder = await mkdtemp(join(tmpdir(), "knfleet-workbench-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const name = "hub";
    const adminIdentity = { certificatePem: "", keyPem: "" };
    const workbench = await openWorkbench({
      fleet: { folder, hub: { name, server: "https://hub", caPem: "", adminIdentity }, spokes: [] },
      kubectl: "/bin/kubectl",
      providerFile: "/providers.json",
      releaseDir,
      projectRoot: "/project",
      environment: { PATH: process.env["PATH"], KNFLEET_RELEASE_DIR: "/another" },
    });
    expect(workbench.environment["KNFLEET_RELEASE_DIR"]).toBe(releaseDir);
    const script = [...workbench.exports, 'printf %s "$KNFLEET_RELEASE_DIR"'].join("\n");
    const typed = await runProgram(["sh", "-c", script], {
      cwd: folder,
      environment: { PATH: process.env["PATH"] },
      signal,
    });
    expect(typed).toMatchObject({ code: 0, stdout: releaseDir });
  },
);
