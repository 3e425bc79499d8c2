import { mkdir, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";

import type { Fleet } from "../fleet/fleet.ts";
import { shellWord } from "./command-line.ts";
import { type UserCluster, userKubeconfig } from "./user-kubeconfig.ts";

/** Where a person works with the fleet: files, and the environment that makes `kubectl` and `kubectl knfleet` work. */
export interface Workbench {
  readonly folder: string;
  /** Lines to type in another terminal. */
  readonly exports: readonly string[];
  /** The same as variables, on top of the process's own. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface WorkbenchOptions {
  readonly fleet: Pick<Fleet, "folder"> & {
    readonly hub: UserCluster;
    readonly spokes: readonly UserCluster[];
  };
  /** Path of the real kubectl. */
  readonly kubectl: string;
  readonly providerFile: string;
  /** Folder with the releases that the demo installs. */
  readonly releaseDir: string;
  readonly projectRoot: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Makes the folder `demo` below the fleet's own, so that it goes with the fleet. */
export async function openWorkbench(options: WorkbenchOptions): Promise<Workbench> {
  const { fleet, projectRoot, environment } = options;
  const folder = join(fleet.folder, "demo");
  const programs = join(folder, "bin");
  const kubeconfig = join(folder, "kubeconfig");
  await mkdir(programs, { recursive: true });
  await writeFile(kubeconfig, userKubeconfig([fleet.hub, ...fleet.spokes]), { mode: 0o600 });
  await symlink(options.kubectl, join(programs, "kubectl"));
  const words = [process.execPath, join(projectRoot, "cmd", "kubectl-knfleet.ts")].map(shellWord);
  // kubectl finds its plugins by name on PATH.
  await writeFile(join(programs, "kubectl-knfleet"), `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`, {
    mode: 0o755,
  });
  return {
    folder,
    exports: [
      `export KUBECONFIG=${shellWord(kubeconfig)}`,
      `export KNFLEET_PROVIDER_FILE=${shellWord(options.providerFile)}`,
      `export KNFLEET_RELEASE_DIR=${shellWord(options.releaseDir)}`,
      `export PATH=${shellWord(programs)}:"$PATH"`,
    ],
    environment: {
      ...environment,
      KUBECONFIG: kubeconfig,
      KNFLEET_PROVIDER_FILE: options.providerFile,
      KNFLEET_RELEASE_DIR: options.releaseDir,
      PATH: [programs, environment["PATH"] ?? ""].join(delimiter),
      NO_COLOR: "1",
    },
  };
}
