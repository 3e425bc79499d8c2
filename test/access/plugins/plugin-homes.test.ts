import { spawnSync } from "node:child_process";
import { access, chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";

import type { ExecPlan } from "../../../access/plugins/exec-plan.ts";
import { PluginHomes } from "../../../access/plugins/plugin-homes.ts";
import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { obtainFreshCredential, type SpokeDeps } from "../../../access/spokes/spoke-deps.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { untilTheEnd } from "../loopback.ts";
import { execName } from "../rows.ts";
import { planOf } from "./plugin-plan.ts";

const signal = AbortSignal.timeout(600_000);
let folder: string;
let command: string;

// It asks once for a token and keeps it in HOME, under the name of the program alone.
const script = `#!/bin/sh
kept="$HOME/.caching-plugin"
if [ ! -f "$kept" ]; then
  echo "$KUBERNETES_EXEC_INFO" | sed 's/.*"clusterName":"\\([^"]*\\)".*/token-of-\\1/' >"$kept"
fi
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'"$(cat "$kept")"'"}}'
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-homes-test-"));
  command = join(folder, "caching-plugin");
  await writeFile(command, script);
  await chmod(command, 0o755);
});

afterAll(() => rm(folder, { recursive: true }));

async function homeOfPerson(): Promise<string> {
  return mkdtemp(join(folder, "person-"));
}

/** The token that the plugin gives for a cluster. */
async function tokenOf(clusterName: string, deps: Pick<SpokeDeps, "environment" | "homes">) {
  const extensions = [{ name: execName, extension: { clusterName } }];
  const profile = profileOf({ accessProviders: [entryOf("sr", { extensions })] });
  const file = fileOf(rawProvider("sr", {}, { command, args: [], env: [] }));
  const found = resolveAccess(profile, file, Date.now());
  const options = { clock: systemClock, userAgent: "test", ...deps };
  const { authorization } = await obtainFreshCredential(found, options, signal);
  return authorization?.reveal();
}

describe("a plugin that keeps its token in HOME", () => {
  test("has a HOME for each identity in the controller", async () => {
    const homes = untilTheEnd(new PluginHomes());
    const environment = { PATH: "/usr/bin:/bin", HOME: await homeOfPerson() };
    expect(await tokenOf("spoke-1", { environment, homes })).toBe("Bearer token-of-spoke-1");
    expect(await tokenOf("spoke-2", { environment, homes })).toBe("Bearer token-of-spoke-2");
    expect(await tokenOf("spoke-1", { environment, homes })).toBe("Bearer token-of-spoke-1");
    await expect(access(join(environment.HOME, ".caching-plugin"))).rejects.toThrow("ENOENT");
  });

  test("leaves no HOME of a run that ends after its connection", async () => {
    const place = await homeOfPerson();
    const homes = untilTheEnd(new PluginHomes(place));
    const environment = { PATH: "/usr/bin:/bin" };
    expect(await tokenOf("spoke-1", { environment, homes })).toBe("Bearer token-of-spoke-1");
    const [root = ""] = await readdir(place);
    expect(root).toMatch(/^knfleet-homes-/);
    await vi.waitFor(async () => expect(await readdir(join(place, root))).toEqual([]));
  });

  test("has the HOME of the person at the command line, with its logins", async () => {
    const environment = { PATH: "/usr/bin:/bin", HOME: await homeOfPerson() };
    await writeFile(join(environment.HOME, ".caching-plugin"), "login-of-jane");
    expect(await tokenOf("spoke-1", { environment })).toBe("Bearer login-of-jane");
  });
});

function plan(more: Partial<ExecPlan> = {}): ExecPlan {
  return planOf("/p/plugin", more);
}

async function homeOf(homes: PluginHomes, one: ExecPlan): Promise<string> {
  return (await homes.environmentOf(one, { HOME: "/root" }))["HOME"] ?? "";
}

describe("the HOME of an identity", () => {
  test("differs by command, arguments, variables and cluster, and by nothing else", async () => {
    const homes = untilTheEnd(new PluginHomes());
    const all = await Promise.all(
      [
        plan(),
        planOf("/p/other"),
        plan({ args: ["a"] }),
        plan({ env: [{ name: "A", value: "1" }] }),
        plan({ cluster: { server: "https://a.test" } }),
        plan({ cluster: { server: "https://b.test" } }),
      ].map((one) => homeOf(homes, one)),
    );
    expect(new Set(all).size).toBe(all.length);
    expect(await homeOf(homes, plan({ installHint: "x", timeoutMs: 1 }))).toBe(all[0]);
  });

  test("is for nobody else, and no folder of ours for caches is shared beside it", async () => {
    const homes = untilTheEnd(new PluginHomes());
    const seen = await homes.environmentOf(plan(), { HOME: "/root", XDG_CACHE_HOME: "/c", A: "1" });
    expect(seen).toEqual({ HOME: expect.stringContaining("knfleet-homes-"), A: "1" });
    expect((await stat(seen["HOME"] ?? "")).mode & 0o777).toBe(0o700);
  });

  test("is what the provider file says, if it says one", async () => {
    const homes = untilTheEnd(new PluginHomes());
    const environment = { HOME: "/root", XDG_CACHE_HOME: "/c" };
    const own = plan({ env: [{ name: "HOME", value: "/shared" }] });
    expect(await homes.environmentOf(own, environment)).toBe(environment);
  });

  test("hides no kubeconfig of the hub", async () => {
    const homes = untilTheEnd(new PluginHomes());
    const HOME = await homeOfPerson();
    await mkdir(join(HOME, ".kube"));
    await writeFile(join(HOME, ".kube", "config"), "");
    expect(await homes.environmentOf(plan(), { HOME })).toMatchObject({
      KUBECONFIG: join(HOME, ".kube", "config"),
    });
    expect(await homes.environmentOf(plan(), { HOME, KUBECONFIG: "/k" })).toMatchObject({
      KUBECONFIG: "/k",
    });
  });

  test("goes with its last holder, and all go at the end", async () => {
    const homes = new PluginHomes();
    const [first, second] = [homes.hold(plan()), homes.hold(plan())];
    const home = await homeOf(homes, plan());
    const other = await homeOf(homes, planOf("/p/other"));
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect((await stat(await homeOf(homes, plan()))).isDirectory()).toBe(true);
    second[Symbol.dispose]();
    await vi.waitFor(() => expect(access(home)).rejects.toThrow("ENOENT"));
    await access(other);
    await homes[Symbol.asyncDispose]();
    await expect(access(join(other, ".."))).rejects.toThrow("ENOENT");
  });

  test("that cannot be made fails the plugin, and is tried again", async () => {
    const homes = untilTheEnd(new PluginHomes());
    vi.stubEnv("TMPDIR", "/nonexistent");
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(homes.environmentOf(plan(), {})).rejects.toMatchObject({ code: "PluginFailed" });
    vi.unstubAllEnvs();
    expect(await homeOf(homes, plan())).toContain("knfleet-homes-");
  });
});

test("folders of processes that have ended go with the first new one, those of others stay", async () => {
  const ended = spawnSync("true").pid;
  const left = join(tmpdir(), `knfleet-homes-${ended}-left`);
  const others = [`knfleet-homes-${process.ppid}-other`, `knfleet-homes-${process.pid}-mine`];
  const folders = others.map((name) => join(tmpdir(), name));
  for (const path of [left, ...folders]) await mkdir(path);
  onTestFinished(async () => {
    for (const path of [left, ...folders]) await rm(path, { recursive: true, force: true });
  });
  const homes = untilTheEnd(new PluginHomes());
  using _held = homes.hold(planOf(command));
  await homes.environmentOf(planOf(command), {});
  await expect(access(left)).rejects.toThrow("ENOENT");
  for (const path of folders) await expect(access(path)).resolves.toBeUndefined();
});
