import { spawn } from "node:child_process";
import { tmpdir } from "node:os";

/** The Go installation of this machine. */
export interface GoTool {
  /** For example `go1.26.8`. */
  readonly version: string;
  readonly platform: string;
}

/** Something that the user has to put right before the fleet's programs can be built. */
export class MissingToolError extends Error {
  override readonly name = "MissingToolError";
}

interface RunResult {
  readonly code: number | "not-found";
  readonly stdout: string;
  readonly stderr: string;
}

/** Go as found on PATH; undefined when there is none. Throws `MissingToolError` when it is older than 1.26. */
export async function findGo(env: NodeJS.ProcessEnv): Promise<GoTool | undefined> {
  const asked = await runGo(["env", "GOVERSION", "GOOS", "GOARCH"], { cwd: tmpdir(), env });
  if (asked.code === "not-found") return undefined;
  const [version = "", os = "", architecture = ""] = asked.stdout.trim().split("\n");
  const [, major, minor] = /^go(\d+)\.(\d+)/.exec(version) ?? [];
  if (asked.code !== 0 || Number(major) !== 1 || Number(minor) < 26) {
    const found = version === "" ? asked.stderr.trim().slice(-300) : version;
    throw new MissingToolError(
      `Go 1.26 or newer is needed to build the test fleet, but \`go\` on PATH is ${found}; install a newer Go`,
    );
  }
  return { version, platform: `${os}-${architecture}` };
}

/** Runs `go` and collects what it prints; `onStderrLine` sees progress. Rejects only when `signal` aborts. */
export function runGo(
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly signal?: AbortSignal },
): Promise<RunResult> {
  const { cwd, signal } = options;
  // What a developer has set for another project must not leak into these builds.
  const env = {
    ...options.env,
    GOTOOLCHAIN: "local",
    GOWORK: "off",
    GOFLAGS: "",
    GOOS: "",
    GOARCH: "",
  };
  return new Promise((resolve, reject) => {
    const go = spawn("go", [...args], { cwd, env, signal, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    go.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
    go.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
    go.once("error", (error) => {
      if (signal?.aborted === true) reject(error);
      else resolve({ code: "not-found", stdout, stderr: error.message });
    });
    go.once("close", (code) => resolve({ code: code ?? -1, stdout, stderr }));
  });
}
