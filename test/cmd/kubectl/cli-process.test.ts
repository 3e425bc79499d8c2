import { readdirSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { knfleetFile, runKnfleet } from "./run-knfleet.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubectl-knfleet-test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the command line", () => {
  test("alone prints a greeting with examples", async () => {
    const { exitCode, stdout, stderr } = await runKnfleet([]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.match(/^ {2}kubectl knfleet /gm)).toHaveLength(5);
  });

  test.each([["status"], ["deployments"], ["version"], []])(
    "%s --help has examples before usage and the exit codes",
    async (...command) => {
      const { exitCode, stdout, stderr } = await runKnfleet([...command, "--help"]);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expect(stdout.indexOf("Examples:")).toBeGreaterThan(0);
      expect(stdout.indexOf("Examples:")).toBeLessThan(stdout.indexOf("Usage:"));
      expect(stdout).toContain("Exit codes:");
    },
  );

  test.each([
    { args: ["statsu"], says: /^error: Unknown command 'statsu'\nhint: Did you mean status\?\n$/ },
    { args: ["status", "--no-liv"], says: /hint: Did you mean --no-live\?/ },
    { args: ["status", "-o", "xml"], says: /--output: want table, wide, json, yaml/ },
    { args: ["status", "--fail-on", "x"], says: /--fail-on/ },
    { args: ["status", "pods/a"], says: /There is no type "pods"/ },
    { args: ["status", "-v=x"], says: /"x" for -v: want a number/ },
    { args: ["status", "--as-group=x"], says: /impersonated without a user/ },
    { args: ["status", "--server=http://"], says: /--server/ },
    { args: ["status", "-o", "go-template={{.x}}"], says: /go-template is not supported/ },
    { args: ["status", "-o", "jsonpath={.x"], says: /Invalid JSONPath/ },
    { args: ["status", "-o", "custom-columns=A"], says: /want HEADER:\.path/ },
    { args: ["status", "--sort-by", "[x"], says: /Invalid JSONPath/ },
    { args: ["version", "extra"], says: /^error: / },
    { args: ["status", "--kubeconfig", "/nowhere"], says: /\/nowhere/ },
    { args: ["status", "--context", "none"], says: /^error: .*\nhint: / },
    {
      args: ["status", "--clusterprofile-provider-file", "/nowhere"],
      says: /provider file \/nowhere cannot be read/,
    },
  ])("$args is refused with code 2 and a way on", async ({ args, says }) => {
    const kubeconfig = await writeKubeconfig("https://127.0.0.1:9");
    const ran = await runKnfleet(args, { env: { KUBECONFIG: kubeconfig } });
    expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ran.stderr).toMatch(says);
    expect(ran.stderr).not.toContain("    at ");
  });

  test("works with its flags in front of the command, too", async () => {
    const ran = await runKnfleet(["-o=json", "version", "--client=true"]);
    expect(JSON.parse(ran.stdout)).toMatchObject({ kind: "Version", summary: { hub: null } });
    expect(ran.exitCode).toBe(0);
  });

  test("ends quietly when its reader goes away", async () => {
    const ran = await runKnfleet(
      ["-c", `"$0" "$1" status --help | head -n 1`, process.execPath, knfleetFile],
      {
        command: "sh",
      },
    );
    expect(ran).toMatchObject({ exitCode: 0, stderr: "" });
  });

  // access/time, which limits the time of every command, imports nothing.
  test.each([
    { args: ["status", "--help"], heavy: /undici|client-node|\/yaml\/|\/access\/(?!time\/)/ },
    { args: ["explain", "KNF1005"], heavy: /undici|client-node|\/yaml\// },
    { args: ["completion", "kubectl"], heavy: /undici|client-node|\/yaml\// },
    { args: ["version", "--client"], heavy: /undici|client-node|\/yaml\// },
    { args: ["__complete", "sta"], heavy: /undici|client-node|\/yaml\/|\/access\/(?!time\/)/ },
  ])("$args loads nothing that it does not need", async ({ args, heavy }) => {
    const hook = join(folder, "hook.mjs");
    await writeFile(
      hook,
      `import { registerHooks } from "node:module";
       registerHooks({ load(url, context, next) { process.stderr.write(url + "\\n"); return next(url, context); } });`,
    );
    const { stderr } = await runKnfleet(
      ["--import", pathToFileURL(hook).href, knfleetFile, ...args],
      { command: process.execPath },
    );
    expect(stderr).toContain("commander");
    expect(stderr.split("\n").filter((url) => heavy.test(url))).toEqual([]);
  });
});

describe("an interrupted command", () => {
  let server: Server;
  beforeAll(async () => {
    server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
  });
  afterAll(() => server.close());

  test("ends at once with code 130", async () => {
    const kubeconfig = await writeKubeconfig(`https://127.0.0.1:${portOf(server)}`);
    let interruptedAt = 0;
    const ran = await runKnfleet(["status", "-A"], {
      env: { KUBECONFIG: kubeconfig },
      // The server accepts and never answers: the command is waiting for it now.
      during: (child) => {
        server.once("connection", () => {
          interruptedAt = performance.now();
          child.kill("SIGINT");
        });
      },
    });
    expect(ran).toEqual({ exitCode: 130, stdout: "", stderr: "" });
    expect(performance.now() - interruptedAt).toBeLessThan(30_000);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 130],
    ["SIGHUP", null],
  ] as const)(
    "T-86 leaves no kubeconfig for plugins behind after %s, which only its owner could read meanwhile",
    async (ending, code) => {
      const kubeconfig = await writeKubeconfig(`https://127.0.0.1:${portOf(server)}`);
      const providers = join(folder, "providers.json");
      await writeFile(providers, JSON.stringify({ providers: [] }));
      const temporary = await mkdtemp(join(folder, "temporary-"));
      const seen: string[] = [];
      const flags = ["--clusterprofile-provider-file", providers, "--plugin-namespace", "x"];
      const { exitCode } = await runKnfleet(["status", "-A", ...flags], {
        env: { KUBECONFIG: kubeconfig, TMPDIR: temporary },
        // The server accepts and never answers: the command is waiting for it now.
        during: (child) => {
          server.once("connection", () => {
            for (const name of readdirSync(temporary, { recursive: true }).map(String)) {
              const mode = statSync(join(temporary, name)).mode & 0o777;
              seen.push(`${name.replace(/-\w{6}(?=\/|$)/, "")} ${mode.toString(8)}`);
            }
            child.kill(ending);
          });
        },
      });
      expect(exitCode).toBe(code);
      expect(seen).toEqual(["kubectl-knfleet 700", "kubectl-knfleet/config 600"]);
      expect(readdirSync(temporary)).toEqual([]);
    },
  );
});

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function writeKubeconfig(server: string): Promise<string> {
  const path = join(folder, "kubeconfig");
  const document = {
    "current-context": "hub",
    contexts: [{ name: "hub", context: { cluster: "hub", user: "me" } }],
    clusters: [{ name: "hub", cluster: { server } }],
    users: [{ name: "me", user: { token: "none" } }],
  };
  await writeFile(path, JSON.stringify(document));
  return path;
}
