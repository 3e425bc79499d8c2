import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { inspect, promisify } from "node:util";

import { userKubeconfig } from "../demo/user-kubeconfig.ts";
import { ensureBinaries } from "../fleet/binaries.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { chartFolder } from "./helm.ts";

const root = resolve(import.meta.dirname, "../..");
const published = "oci://ghcr.io/knfleet/charts/knfleet";

/** Somebody who reads the documentation: a folder with a checkout's files, the programs, and a context for each cluster. */
export class Reader {
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  /** What was exported so far. */
  #exports = "";

  private constructor(folder: string, environment: NodeJS.ProcessEnv) {
    this.folder = folder;
    this.#environment = environment;
  }

  /** The first cluster is the hub; `links` are what the folder has of the checkout. */
  static async start(clusters: readonly Cluster[], links: readonly string[]): Promise<Reader> {
    const folder = join(clusters[0]?.folder ?? "", "reader");
    const programs = join(folder, "programs");
    await mkdir(programs, { recursive: true });
    for (const link of links) await symlink(join(root, link), join(folder, link));
    const binary = await ensureBinaries(["helm", "kubectl"]);
    await symlink(binary("kubectl"), join(programs, "kubectl"));
    // The chart is taken from here instead of the registry.
    await writeProgram(
      join(programs, "helm"),
      `for word; do shift; [ "$word" = ${published} ] && word=${chartFolder}; set -- "$@" "$word"; done
exec ${binary("helm")} "$@"`,
    );
    const plugin = join(root, "cmd/kubectl-knfleet.ts");
    await writeProgram(
      join(programs, "kubectl-knfleet"),
      `exec ${process.execPath} ${plugin} "$@"`,
    );
    const KUBECONFIG = join(folder, "kubeconfig");
    await writeFile(KUBECONFIG, userKubeconfig(clusters), { mode: 0o600 });
    const PATH = `${programs}:${process.env["PATH"] ?? ""}`;
    // Where the sample release is, all children of a test are told: test/support/release-world.ts.
    return new Reader(folder, { PATH, HOME: folder, KUBECONFIG });
  }

  /** Saves a file. */
  async save(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text);
  }

  /** The same. Types the commands again when a busy hub did not answer the webhook in time, or when a new controller still waits for the Lease of one that lost its rights before it ended. */
  async typePatiently(commands: string): Promise<string> {
    return waitFor(
      commands,
      () => this.type(commands).catch((error: unknown) => (isLate(error) ? undefined : { error })),
      { timeoutMs: 120_000 },
    ).then((answer) => {
      if (typeof answer === "string") return answer;
      throw answer.error;
    });
  }

  /** Types commands into a shell; what they printed, or an error with it. */
  async type(commands: string): Promise<string> {
    if (commands.startsWith("export ")) this.#exports += `${commands}\n`;
    const options = { env: this.#environment, cwd: this.folder, maxBuffer: 64 * 1024 * 1024 };
    try {
      return (await promisify(execFile)("sh", ["-euc", `${this.#exports}${commands}`], options))
        .stdout;
    } catch (error) {
      throw new Error(`Failed: ${commands}`, { cause: error });
    }
  }

  /** Types a command that runs until it is stopped, which disposing does. */
  start(command: string): AsyncDisposable {
    const options = { env: this.#environment, cwd: this.folder, stdio: "ignore" } as const;
    const child = spawn("sh", ["-euc", `${this.#exports}${command}`], options);
    const ended = once(child, "exit");
    return {
      [Symbol.asyncDispose]: async () => {
        child.kill();
        await ended;
      },
    };
  }
}

function isLate(error: unknown): boolean {
  return /failed calling webhook|Lease \S+ is held by .* and has run out/.test(inspect(error));
}

async function writeProgram(path: string, text: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
}
