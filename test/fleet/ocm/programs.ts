import { join } from "node:path";

import type { BinaryName, ocmBinaries } from "../binary-catalogue.ts";
import { startLastingServer, type LastingServer } from "../lasting-server.ts";
import type { Watchdog } from "../watchdog.ts";

/** A program of Open Cluster Management or of one of its addons. */
export type OcmBinary = Extract<BinaryName, (typeof ocmBinaries)[number]>;

/** What the processes of Open Cluster Management share. */
export interface ProgramDeps {
  readonly binary: (name: OcmBinary) => string;
  readonly watchdog: Watchdog;
  readonly log: (line: string) => void;
  /** Folder of logs, kubeconfigs and sockets. */
  readonly folder: string;
}

/** Starts a program as a plain process of this machine; its log is NAME.log. */
export function startProgram(
  name: string,
  command: { readonly binary: OcmBinary; readonly args: readonly string[] },
  deps: ProgramDeps,
): Promise<LastingServer> {
  const { folder } = deps;
  return startLastingServer(
    {
      title: name,
      binary: deps.binary(command.binary),
      args: command.args,
      cwd: folder,
      logFile: join(folder, `${name}.log`),
    },
    deps,
  );
}
