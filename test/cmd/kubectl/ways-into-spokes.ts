import { once } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import { isRecord } from "../../../api/fields.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import type { FleetScene } from "./fleet-scene.ts";
import { kubectlWith, pathWithPlugin, type Kubectl } from "./plugin-folder.ts";
import type { Ran, RunOptions } from "./run-knfleet.ts";

/** Whether a path is there. */
async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

/** Tests of `credential`, `kubeconfig` and `connect`, on the fleet of the file that calls it. */
export function testWaysIntoSpokes(fleet: () => Fleet, scene: () => FleetScene): void {
  let kubectl: Kubectl;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    kubectl = await kubectlWith(await pathWithPlugin(fleet().folder));
    env = {
      KUBECONFIG: scene().kubeconfig,
      KNFLEET_PROVIDER_FILE: scene().providerFile,
      TMPDIR: fleet().folder,
    };
  });

  /** A command line as a user types it. */
  function run(line: readonly string[], options: RunOptions = {}): Promise<Ran> {
    return kubectl(line, { ...options, env: { ...env, ...options.env } });
  }

  describe("kubeconfig", () => {
    test("makes a file with which kubectl reaches the cluster, and no token is in it", async () => {
      const file = join(fleet().folder, "one.yaml");
      const made = await run(["knfleet", "kubeconfig", "fleet/spoke-1", "-o", file]);
      expect(made).toMatchObject({ exitCode: 0, stderr: `${file}: written\n` });
      expect(made.stdout).toMatch(/^CONTEXT +CHANGE\nfleet\/spoke-1 +added\n$/);
      expect(await modeOf(file)).toBe("600");
      expect(await readFile(file, "utf8")).not.toMatch(/eyJ|token/);
      // In another folder and with another hub in the environment.
      const used = await run(["--kubeconfig", file, "get", "namespaces", "-o", "name"], {
        env: { KUBECONFIG: "/nowhere" },
      });
      expect(used).toMatchObject({ exitCode: 0, stderr: "" });
      expect(used.stdout).toContain("namespace/team-a\n");
    });

    test("merges the fleet into a file and leaves the rest of it as it is", async () => {
      const file = join(fleet().folder, "mine.yaml");
      const mine =
        "# mine\napiVersion: v1\nkind: Config\ncurrent-context: hub # the hub\nclusters:\n  - {name: hub, cluster: {server: https://hub}}\ncontexts:\n  - {name: hub, context: {cluster: hub, user: me}}\nusers:\n  - name: me\n    user: {token: old}\nextra: [1]\n";
      await writeFile(file, mine, { mode: 0o600 });
      const merge = ["knfleet", "kubeconfig", "--all", "--cluster=spoke-?", "--merge", "-o", file];
      const asked = await run(merge);
      expect(asked).toMatchObject({ exitCode: 2, stdout: "" });
      expect(asked.stderr).toContain("--yes");
      const tried = await run([...merge, "--dry-run"]);
      expect(tried.stdout.match(/added/g)).toHaveLength(2);
      expect(await readFile(file, "utf8")).toBe(mine);
      expect(await run([...merge, "--yes"])).toMatchObject({ exitCode: 0 });
      const text = await readFile(file, "utf8");
      expect(text).toMatch(/^# mine\n/);
      expect(text).toContain("current-context: hub # the hub\n");
      expect(text).toContain("token: old");
      const names = await run(["--kubeconfig", file, "config", "get-contexts", "-o", "name"]);
      expect(names.stdout.trim().split("\n").toSorted()).toEqual([
        "fleet/spoke-1",
        "fleet/spoke-2",
        "hub",
      ]);
      const line = ["--kubeconfig", file, "--context", "fleet/spoke-2", "get", "ns", "-o", "name"];
      expect(await run(line)).toMatchObject({ exitCode: 0 });
      const again = await run([...merge, "--yes"]);
      expect(again.stdout.match(/unchanged/g)).toHaveLength(2);
    });
  });

  describe("credential", () => {
    test("prints what the protocol asks for and nothing else", async () => {
      const line = ["knfleet", "credential", "fleet/spoke-1"];
      const { stdout, stderr, exitCode } = await run(line);
      expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
      const answer: unknown = JSON.parse(stdout);
      expect(answer).toMatchObject({
        kind: "ExecCredential",
        apiVersion: "client.authentication.k8s.io/v1",
      });
      const status = isRecord(answer) && isRecord(answer["status"]) ? answer["status"] : {};
      expect(Object.keys(status)).toEqual(["expirationTimestamp", "token"]);
      expect(Date.parse(String(status["expirationTimestamp"]))).toBeGreaterThan(Date.now());
    });

    test("gives none for another server than the profile names", async () => {
      const cluster = { server: "https://127.0.0.1:9" };
      const KUBERNETES_EXEC_INFO = JSON.stringify({
        apiVersion: "client.authentication.k8s.io/v1",
        kind: "ExecCredential",
        spec: { cluster, interactive: false },
      });
      const ran = await run(["knfleet", "credential", "fleet/spoke-1"], {
        env: { KUBERNETES_EXEC_INFO },
      });
      expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
      expect(ran.stderr).toContain("another server than ClusterProfile fleet/spoke-1");
    });
  });

  describe("connect", () => {
    test("runs kubectl against the cluster", async () => {
      const line = ["knfleet", "connect", "spoke-1", "--", "kubectl", "get", "ns", "-o", "name"];
      const { stdout, stderr, exitCode } = await run(line);
      expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
      expect(stdout).toContain("namespace/team-a\n");
    });

    test("passes the exit code on; the file was private and is gone", async () => {
      const script = 'stat -c %a "$KUBECONFIG" "${KUBECONFIG%/*}"; echo "$KUBECONFIG"; exit 42';
      const line = ["knfleet", "connect", "cp/fleet/spoke-1", "--", "sh", "-c", script];
      const { stdout, exitCode } = await run(line);
      const [file, folder, path = ""] = stdout.trim().split("\n");
      expect({ file, folder, exitCode }).toEqual({ file: "600", folder: "700", exitCode: 42 });
      expect(await isThere(path)).toBe(false);
      expect(await isThere(dirname(path))).toBe(false);
    });

    test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
      "after %s the command has ended and the file is gone",
      async (name) => {
        let stdout = "";
        const script = 'echo "$$ $KUBECONFIG"; exec sleep 1000';
        const ran = await run(["knfleet", "connect", "spoke-1", "--", "sh", "-c", script], {
          during: async (child) => {
            child.stdout?.on("data", (text: Buffer) => (stdout += text.toString()));
            await waitFor("the command", () => stdout.includes("\n"));
            child.kill(name);
            await once(child, "exit");
          },
        });
        const [pid = "", path = ""] = stdout.trim().split(" ");
        expect(ran.exitCode).toBe(name === "SIGHUP" ? 143 : 130);
        expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
        expect(await isThere(dirname(path))).toBe(false);
      },
    );

    test("leaves no folder behind", async () => {
      const left = await readdir(fleet().folder);
      expect(left.filter((name) => name.startsWith("kubectl-knfleet-"))).toEqual([]);
    });

    test("of a program that does not exist says so", async () => {
      const ran = await run(["knfleet", "connect", "spoke-1", "--", "no-such-program"]);
      expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
      expect(ran.stderr).toContain("no-such-program cannot be started (ENOENT)");
    });
  });
}
