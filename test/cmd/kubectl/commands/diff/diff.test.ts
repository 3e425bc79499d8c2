import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { waitFor } from "../../../../fleet/wait-for.ts";
import { component } from "../../fleet-facts.ts";
import { runKnfleet } from "../../run-knfleet.ts";
import { runText, type RunText } from "../../run-text.ts";
import {
  controllerTaking,
  secretValue,
  startComparingHub,
  type ComparingHub,
} from "./comparing-hub.ts";

const other = "b3RoZXItc2VjcmV0";

const drifted = {
  "ServiceAccount/thin": undefined,
  "ConfigMap/config-thin": { data: { size: "2\u001b[2J", foreign: "kept" } },
  "Secret/thin": { data: { key: other } },
};

let hub: ComparingHub;
let folder: string;
beforeAll(async () => {
  hub = await startComparingHub(drifted);
  folder = await mkdtemp(join(tmpdir(), "knfleet-external-diff-"));
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function argsOf({ releaseDir }: ComparingHub, more: readonly string[]): readonly string[] {
  return ["diff", "ke", "--release-dir", releaseDir, ...more];
}

function ran(more: readonly string[] = [], { env = {}, ...options }: RunText = {}) {
  return runText(argsOf(hub, more), { ...options, env: { ...hub.env, LANG: "C.UTF-8", ...env } });
}

/** A program in place of a diff; it says where it is in a file beside itself. */
async function program(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

describe("diff", () => {
  test.each([
    ["diff.txt", []],
    ["diff.wide.txt", ["-o", "wide"]],
    ["diff.json.txt", ["-o", "json"]],
    ["diff.name.txt", ["-o", "name"]],
  ])(
    "%s is printed as agreed, and the exit code says that something differs",
    async (name, more) => {
      const { exitCode, stdout, stderr } = await ran(more);
      const file = join(import.meta.dirname, "../../../../golden/kubectl", name);
      await expect(`${stdout}--- stderr\n${stderr}`).toMatchFileSnapshot(file);
      expect(exitCode).toBe(1);
    },
  );

  test("compares with what the patches of a component make", async () => {
    const target = { apiVersion: "v1", kind: "ConfigMap", name: "config-thin" };
    const patch = { type: "merge", content: '{"data": {"size": "3"}}' };
    const local = component({ kind: "KnativeEventing", cluster: null, wanted: "1.23" });
    const spec = { ...Object(local["spec"]), patches: [{ target, patch }] };
    await using patched = await startComparingHub({}, { installed: { ...local, spec } });
    const { exitCode, stdout } = await runText(argsOf(patched, []), { env: patched.env });
    expect(stdout).toContain('-  size: "1"\n+  size: "3"\n');
    expect(stdout.match(/^---/gmu)).toHaveLength(1);
    expect(exitCode).toBe(1);
  });

  test("shows neither a value of a Secret nor what moves a cursor, in no format", async () => {
    for (const format of ["table", "wide", "json", "yaml", "name", "jsonpath={.items}"]) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const { stdout, stderr } = await ran(["-o", format]);
      expect(stdout).not.toContain(secretValue);
      expect(stdout).not.toContain(other);
      expect(`${format === "json" || format === "yaml" ? "" : stdout}${stderr}`).not.toContain(
        "\u001b",
      );
    }
  });

  test("is told from a bundle as it was when gather --diff wrote it, and not without", async () => {
    const path = join(folder, "with.tgz");
    const render = ["--release-dir", hub.releaseDir];
    const gathered = await runText(["gather", "-A", "--diff", ...render, "-o", path], {
      env: hub.env,
    });
    expect(gathered.stderr).toContain(`Written: ${path}`);
    for (const format of [[], ["-o", "wide"], ["-o", "name"], ["-o", "json"]]) {
      // oxlint-disable-next-line no-await-in-loop -- one format after another
      const [live, then] = await Promise.all([
        ran(format),
        runText(["diff", "ke", "--bundle", path, ...format], { env: { LANG: "C.UTF-8" } }),
      ]);
      expect(then.stdout).toBe(live.stdout);
      expect(then.exitCode).toBe(1);
    }
    const none = await runText(["diff", "ke/other", "--bundle", path]);
    expect(none).toMatchObject({ stdout: "", exitCode: 1 });
    const without = join(folder, "without.tgz");
    await runText(["gather", "-A", "-o", without], { env: hub.env });
    const { stderr, exitCode } = await runText(["diff", "--bundle", without]);
    expect(stderr).toContain("next: kubectl knfleet gather -A --diff\n");
    expect(exitCode).toBe(2);
  });

  test("asks by GET and PATCH alone", async () => {
    const before = hub.requests.length;
    await ran();
    const methods = hub.requests.slice(before).map((line) => line.split(" ")[0]);
    expect(new Set(methods)).toEqual(new Set(["GET", "PATCH"]));
  });

  test("of a cluster that is as it should be is empty, and the exit code 0", async () => {
    await using same = await startComparingHub({});
    const { stdout, stderr, exitCode } = await runText(argsOf(same, []), { env: same.env });
    expect(stdout).toBe("");
    expect(stderr).toContain("live against rendered: no difference.");
    expect(exitCode).toBe(0);
  });

  test("renders with the oldest Kubernetes that the hub's controller hands on", async () => {
    await using handed = await startComparingHub({}, { answer: controllerTaking("v1.30.0") });
    const { stdout, exitCode } = await runText(argsOf(handed, []), { env: handed.env });
    // The Deployment of this hub was installed without it.
    expect(stdout).toContain("+            - name: KUBERNETES_MIN_VERSION");
    expect(stdout).toContain("+              value: v1.30.0");
    expect(exitCode).toBe(1);
  });

  test("of an installation that this version may not install names the reason, with exit code 3", async () => {
    const status = { observedGeneration: 1, version: "1.20.0", conditions: [] };
    const old = component({ kind: "KnativeEventing", cluster: null, wanted: "1.23", status });
    await using far = await startComparingHub({}, { installed: old });
    const { stderr, exitCode } = await runText(argsOf(far, []), { env: far.env });
    expect(stderr).toContain("VersionNotEligible: KnativeEventing team-a/knative-eventing");
    expect(exitCode).toBe(3);
    // A bundle tells it of this installation, and of no other one.
    const path = join(folder, "far.tgz");
    await runText(["gather", "-A", "--diff", "--release-dir", far.releaseDir, "-o", path], far);
    const then = await runText(["diff", "ke", "--bundle", path, "-o", "json"]);
    const live = await runText(argsOf(far, ["-o", "json"]), { env: far.env });
    expect(then).toMatchObject({ exitCode: 3 });
    expect(JSON.parse(then.stdout).errors).toEqual(JSON.parse(live.stdout).errors);
    const nobody = await runText(["diff", "ke/other", "--bundle", path, "-o", "json"]);
    expect(JSON.parse(nobody.stdout).errors).toMatchObject([{ reason: "NotFound" }]);
  });

  test("without the releases that it is told of does not begin", async () => {
    const nowhere = join(folder, "nowhere");
    const { stderr, exitCode } = await runText(["diff", "ke", "--release-dir", nowhere], hub);
    expect(stderr).toContain("nowhere, which --release-dir names, does not exist");
    expect(exitCode).toBe(2);
  });
});

describe("KUBECTL_EXTERNAL_DIFF", () => {
  test("compares two private folders, in which values of Secrets are hidden, too", async () => {
    const path = await program(
      "show",
      'echo "$1 $#"; cd "$2"; stat -c %a . *; cat *; cd "$3"; cat *; echo "$2" >&2; exit 1',
    );
    const { stdout, stderr, exitCode } = await ran([], {
      env: { KUBECTL_EXTERNAL_DIFF: `${path} -u rm;x`, PATH: process.env["PATH"] ?? "" },
    });
    expect(stdout).toMatch(/^-u 3\n700\n600\n600\n/);
    expect(stdout).toContain('key: "*** (before)"');
    expect(stdout).not.toContain(secretValue);
    expect(stdout).not.toContain(other);
    const [used = ""] = stderr.split("\n");
    expect(used).toContain("kubectl-knfleet-");
    expect(existsSync(used)).toBe(false);
    expect(exitCode).toBe(1);
  });

  test.each([
    ["fails", "exit 2", "failed with exit code 2"],
    ["is not there", undefined, "cannot be started"],
  ])("that %s makes the exit code 2", async (_, text, message) => {
    const path = text === undefined ? join(folder, "nothing") : await program("fails", text);
    const { stderr, exitCode } = await ran([], { env: { KUBECTL_EXTERNAL_DIFF: path } });
    expect(stderr).toContain(message);
    expect(exitCode).toBe(2);
  });

  test("leaves no file behind when it is interrupted", async () => {
    const note = join(folder, "note");
    const path = await program("hangs", `echo "$1" > "${note}"; exec sleep 600`);
    const { exitCode } = await runKnfleet(argsOf(hub, []), {
      env: { ...hub.env, KUBECTL_EXTERNAL_DIFF: path },
      during: async (child) => {
        await waitFor(
          "the program to run",
          async () => (await readFile(note, "utf8").catch(() => "")) !== "",
        );
        child.kill("SIGINT");
      },
    });
    const used = (await readFile(note, "utf8")).trim();
    expect(used).toContain("kubectl-knfleet-");
    expect(existsSync(used)).toBe(false);
    expect(exitCode).toBe(130);
  });
});
