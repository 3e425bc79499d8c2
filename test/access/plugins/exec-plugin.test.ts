import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import type { ExecPlan } from "../../../access/plugins/exec-plan.ts";
import { execInfo, resolveCommand, runExecPlugin } from "../../../access/plugins/exec-plugin.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { goodCredential as good, isAlive, planOf } from "./plugin-plan.ts";

let folder: string;
const never = new AbortController().signal;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-plugins-"));
});

afterAll(() => rm(folder, { recursive: true }));

/** Writes an executable and returns its path. */
async function plugin(name: string, script: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}

function run(plan: ExecPlan, signal: AbortSignal = never): ReturnType<typeof runExecPlugin> {
  const environment = { PATH: `${folder}:/usr/bin:/bin` };
  return runExecPlugin(plan, { clock: systemClock, environment }, signal);
}

async function failureOf(work: Promise<unknown>): Promise<FleetError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof FleetError) return error;
  throw new Error("Expected a FleetError", { cause: error });
}

describe("a plugin", () => {
  test("gives its token (X01)", async () => {
    const command = await plugin("good", `echo '${good}'`);
    expect((await run(planOf(command))).authorization?.reveal()).toBe("Bearer T1");
  });

  test("sees its input, its arguments, its variables and nothing else of ours (X02, T-41, D9)", async () => {
    const seen = join(folder, "seen");
    const command = await plugin(
      "show",
      `printf '%s' "$KUBERNETES_EXEC_INFO" > ${seen}.info; echo "$@" > ${seen}.args; env > ${seen}.env; echo '${good}'`,
    );
    vi.stubEnv("KNFLEET_TEST_CANARY", "canary");
    const cluster = { server: "https://spoke-1.test:6443", config: { clusterName: "spoke-1" } };
    const env = [
      { name: "B", value: "1 2" },
      { name: "KUBERNETES_EXEC_INFO", value: "forged" },
    ];
    await run(planOf(command, { args: ["--x", "a b"], env, cluster }));
    vi.unstubAllEnvs();
    expect(JSON.parse(await readFile(`${seen}.info`, "utf8"))).toEqual({
      kind: "ExecCredential",
      apiVersion: "client.authentication.k8s.io/v1",
      spec: { cluster, interactive: false },
    });
    expect(await readFile(`${seen}.args`, "utf8")).toBe("--x a b\n");
    const environment = await readFile(`${seen}.env`, "utf8");
    expect(environment).toContain("B=1 2");
    expect(environment).not.toContain("canary");
  });

  test("without cluster information sees none (X03), and of the version that was asked for (X05)", async () => {
    const seen = join(folder, "seen-v1beta1");
    const apiVersion = "client.authentication.k8s.io/v1beta1";
    const beta = good.replace("io/v1", "io/v1beta1");
    const command = await plugin(
      "beta",
      `printf '%s' "$KUBERNETES_EXEC_INFO" > ${seen}; echo '${beta}'`,
    );
    expect((await run(planOf(command, { apiVersion }))).authorization).toBeDefined();
    expect(JSON.parse(await readFile(seen, "utf8"))).toEqual({
      kind: "ExecCredential",
      apiVersion,
      spec: { interactive: false },
    });
  });

  test("gets an end of file from stdin at once (X22)", async () => {
    const command = await plugin("reader", `cat > /dev/null; echo '${good}'`);
    expect((await run(planOf(command, { timeoutMs: 5_000 }))).authorization).toBeDefined();
  });

  test("is found in our PATH, not in the one that it gets (X26)", async () => {
    await plugin("bare", `echo '${good}'`);
    const evil = join(folder, "evil");
    await mkdir(evil);
    await writeFile(join(evil, "bare"), "#!/bin/sh\nexit 9\n");
    await chmod(join(evil, "bare"), 0o755);
    const env = [{ name: "PATH", value: evil }];
    expect((await run(planOf("bare", { env }))).authorization).toBeDefined();
  });

  test("X35: gets the configuration of its own cluster, and gives its token", async () => {
    const echo = `printf '${good.replace("T1", "%s")}' "$(echo "$KUBERNETES_EXEC_INFO" | grep -o 'spoke-[0-9]')"`;
    const command = await plugin("by-name", echo);
    const of = async (clusterName: string): Promise<string | undefined> => {
      const cluster = { server: "https://spokes.test", config: { clusterName } };
      return (await run(planOf(command, { cluster }))).authorization?.reveal();
    };
    expect(await Promise.all(["spoke-1", "spoke-2"].map(of))).toEqual([
      "Bearer spoke-1",
      "Bearer spoke-2",
    ]);
  });

  test("starts in an empty folder, which is gone afterwards with what it wrote", async () => {
    const seen = join(folder, "working-directory");
    const command = await plugin("where", `(pwd; ls -A) > ${seen}; touch left; echo '${good}'`);
    const policy = { roots: [folder] };
    const environment = { PATH: "/usr/bin:/bin" };
    await runExecPlugin(planOf(command), { clock: systemClock, environment, policy }, never);
    const [where = "", ...files] = (await readFile(seen, "utf8")).trim().split("\n");
    expect(files).toEqual([]);
    expect(where).not.toBe(process.cwd());
    await expect(stat(where)).rejects.toThrow("ENOENT");
  });

  test("that leaves a background child with the pipe open does not hold us up", async () => {
    const command = await plugin("daemon", `sleep 60 & echo '${good}'`);
    const started = performance.now();
    expect((await run(planOf(command))).authorization).toBeDefined();
    expect(performance.now() - started).toBeLessThan(50_000);
  });

  test("leaves no process behind, also not one that has closed its pipes (T-42)", async () => {
    const pid = join(folder, "left-behind");
    const command = await plugin(
      "forks",
      `sleep 300 > /dev/null 2>&1 & echo "$!" > ${pid}; echo '${good}'`,
    );
    expect((await run(planOf(command))).authorization).toBeDefined();
    const child = Number(await readFile(pid, "utf8"));
    await vi.waitFor(() => expect(isAlive(child)).toBe(false), 30_000);
  });
});

describe("a plugin fails", () => {
  test.each([
    {
      name: "with exit code 3 (X17)",
      script: "echo 'no secret' >&2; exit 3",
      code: "PluginFailed",
      says: "exit code 3",
    },
    { name: "by a signal (X18)", script: "kill -TERM $$", code: "PluginFailed", says: "SIGTERM" },
    {
      name: "with nothing on stdout (X16)",
      script: "true",
      code: "PluginOutputInvalid",
      says: "empty",
    },
    {
      name: "with a banner (X13)",
      script: `echo hello: [; echo '${good}'`,
      code: "PluginOutputInvalid",
      says: "",
    },
    { name: "with garbage", script: "echo canary-garbage", code: "PluginOutputInvalid", says: "" },
    {
      name: "with another kind (X06)",
      script: `echo '${good.replace("ExecCredential", "Foo")}'`,
      code: "PluginOutputInvalid",
      says: "kind",
    },
    {
      name: "of another version, both named (X04)",
      script: `echo '${good.replace("io/v1", "io/v1beta1")}'`,
      code: "PluginOutputInvalid",
      says: "client.authentication.k8s.io/v1beta1",
    },
    {
      name: "by flooding us on stderr (T-43)",
      script: `yes canary | head -c 100000 >&2; echo '${good}'`,
      code: "PluginOutputInvalid",
      says: "64 KiB",
    },
    {
      name: "by flooding us (X23, T-43)",
      script: "yes canary | head -c 5000000",
      code: "PluginOutputInvalid",
      says: "1 MiB",
    },
  ])("$name", async ({ script, code, says }) => {
    const error = await failureOf(run(planOf(await plugin("failing", script))));
    expect(error).toMatchObject({ reason: "AccessProviderFailed", code });
    expect(error.message).toContain(says);
    expect(error.message).not.toContain("canary");
  });

  test("and what it said on stderr is only in the cause (X17)", async () => {
    const error = await failureOf(run(planOf(await plugin("talks", "echo canary >&2; exit 1"))));
    expect(error.message).not.toContain("canary");
    expect(String(error.cause)).toContain("canary");
  });

  test("when it hangs, and its children end with it (X21)", async () => {
    const pids = join(folder, "pids");
    const command = await plugin("hangs", `sleep 300 & echo "$$ $!" > ${pids}; wait`);
    const started = performance.now();
    const error = await failureOf(run(planOf(command, { timeoutMs: 1_000 })));
    expect(error.code).toBe("PluginTimeout");
    expect(performance.now() - started).toBeLessThan(50_000);
    const [parent, child] = (await readFile(pids, "utf8")).trim().split(" ").map(Number);
    await vi.waitFor(() => {
      expect(isAlive(parent ?? 0)).toBe(false);
      expect(isAlive(child ?? 0)).toBe(false);
    }, 30_000);
  });

  test("when we stop, with the reason of the signal", async () => {
    const stop = new AbortController();
    const work = run(planOf(await plugin("slow", "sleep 300")), stop.signal);
    stop.abort(new Error("Stopped"));
    await expect(work).rejects.toThrow("Stopped");
  });
});

describe("a command is not found", () => {
  test.each([
    { name: "by a bare name (X19)", command: "no-such-plugin" },
    { name: "by a path (X19)", command: "/no/such/plugin" },
    { name: "when it is a folder", command: "/tmp" },
  ])("$name, and the hint says what to do", async ({ command }) => {
    const error = await failureOf(run(planOf(command, { installHint: "Install it from X" })));
    expect(error.code).toBe("PluginNotFound");
    expect(error.message).toContain("Install it from X");
  });

  test("when it is not executable, which is said (X20)", async () => {
    const file = join(folder, "plain");
    await writeFile(file, "#!/bin/sh\n");
    const error = await failureOf(run(planOf(file)));
    expect(error.code).toBe("PluginNotFound");
    expect(error.message).toContain("not executable");
  });

  test("when its interpreter is missing, which no installation of the plugin mends", async () => {
    const file = join(folder, "script");
    await writeFile(file, "#!/no/such/python3\n");
    await chmod(file, 0o755);
    const error = await failureOf(run(planOf(file, { installHint: "Install it from X" })));
    expect(error.code).toBe("PluginFailed");
    expect(error.message).toMatch(/the file is there, but its interpreter .* is not$/);
  });
});

test("a command resolves to its real path, and relative PATH entries are not searched", async () => {
  const real = await plugin("real", "true");
  await symlink(real, join(folder, "link"));
  expect(await resolveCommand(join(folder, "link"), "")).toBe(real);
  expect(await resolveCommand("real", `.:relative:${folder}`)).toBe(real);
  expect(await resolveCommand("real", ".:relative")).toBeUndefined();
});

test("input as large as a process can be given works (X25), one byte more is refused before the start (X24)", async () => {
  const command = await plugin("large", `echo '${good}'`);
  const frame = Buffer.byteLength(
    execInfo({ apiVersion: planOf("").apiVersion, cluster: { pad: "" } }),
  );
  const fits = { cluster: { pad: "x".repeat(131_050 - frame) } };
  expect((await run(planOf(command, fits))).authorization).toBeDefined();
  const tooLarge = { cluster: { pad: "x".repeat(131_051 - frame) } };
  expect((await failureOf(run(planOf(command, tooLarge)))).code).toBe("PluginInputTooLarge");
});

test("X31: a command that begins with ./ is the file in the working directory, not one in PATH", async () => {
  const before = process.cwd();
  const here = await realpath(await mkdtemp(join(folder, "here-")));
  await plugin("local", "exit 9");
  const script = `#!/bin/sh\necho '${good}'\n`;
  await writeFile(join(here, "local"), script, { mode: 0o755 });
  try {
    process.chdir(here);
    expect(await resolveCommand("./local", folder)).toBe(join(here, "local"));
    expect((await run(planOf("./local"))).authorization?.reveal()).toBe("Bearer T1");
    expect(await resolveCommand("./absent", folder)).toBeUndefined();
  } finally {
    process.chdir(before);
  }
});
