import { rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder that only its owner reads; gone after disposal, and when the process ends. */
export interface PrivateFolder extends AsyncDisposable {
  readonly path: string;
  /** Writes a file into it, for its owner alone, and returns its path. */
  write(name: string, text: string): Promise<string>;
}

/** Makes one. Spec: security.md T-86. */
export async function makePrivateFolder(): Promise<PrivateFolder> {
  // mkdtemp makes it with mode 0700.
  const folder = await mkdtemp(join(tmpdir(), "kubectl-knfleet-"));
  const removeNow = (): void => rmSync(folder, { recursive: true, force: true });
  // A second Ctrl-C ends the process without disposal.
  process.once("exit", removeNow);
  // The end of the terminal ends the process without both, unless somebody else cares for it.
  const onHangup = (): void => {
    removeNow();
    process.off("SIGHUP", onHangup);
    if (process.listenerCount("SIGHUP") === 0) process.kill(process.pid, "SIGHUP");
  };
  process.on("SIGHUP", onHangup);
  return {
    path: folder,
    async write(name, text) {
      const path = join(folder, name);
      await writeFile(path, text, { mode: 0o600, flag: "wx" });
      return path;
    },
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true });
      process.off("exit", removeNow);
      process.off("SIGHUP", onHangup);
    },
  };
}
