import { join } from "node:path";

import { Follower } from "../../access/time/deadline.ts";
import { freePort } from "../fleet/ports.ts";
import { startServer } from "../fleet/server-process.ts";
import { startWatchdog } from "../fleet/watchdog.ts";
import { until } from "./until.ts";

/** Name of the log in the folder of the demo. */
export const controllerLog = "controller.log";

export interface ControllerOptions {
  readonly folder: string;
  readonly projectRoot: string;
  readonly kubeconfig: string;
  readonly providerFile: string;
  readonly releaseDir: string;
}

/** The real controller as a process. Disposing stops it as an operator would, with SIGTERM. */
export interface ControllerProcess extends AsyncDisposable {
  /** The command line that started it. */
  readonly words: readonly string[];
  readonly pid: number;
  readonly logFile: string;
  /** Aborted, with the end of its log as the reason, when it ends by itself. */
  readonly died: AbortSignal;
}

/** What would be typed to start the controller; needs a port that is free. */
function controllerWords(
  { projectRoot, kubeconfig, providerFile, releaseDir }: ControllerOptions,
  port: number,
): readonly string[] {
  return [
    process.execPath,
    join(projectRoot, "cmd", "knfleet-controller.ts"),
    "--kubeconfig",
    kubeconfig,
    "--clusterprofile-provider-file",
    providerFile,
    "--release-dir",
    releaseDir,
    "--health-address",
    `127.0.0.1:${port}`,
    "--sets",
  ];
}

/** Starts the controller and waits until it is ready. Throws with the end of its log when it is not within 30 s. */
export async function startController(
  options: ControllerOptions,
  signal: AbortSignal,
): Promise<ControllerProcess> {
  const { folder } = options;
  await using undo = new AsyncDisposableStack();
  // When the demo dies by SIGKILL, the controller goes with it.
  const watchdog = undo.use(startWatchdog(folder));
  const port = await freePort();
  const words = controllerWords(options, port);
  const [binary = "", ...args] = words;
  const logFile = join(folder, controllerLog);
  const server = await startServer(
    { title: "knfleet-controller", binary, args, cwd: folder, logFile },
    watchdog,
  );
  undo.defer(() => server.stop({ signal: "SIGTERM", graceMs: 15_000 }));
  const death = new AbortController();
  server.died.catch((error: unknown) => death.abort(error));
  const either = new Follower(signal, death.signal).signal;
  await until(() => readiness(port, either), {
    what: `the controller to be ready; its log is ${logFile}`,
    timeoutMs: 120_000,
    signal: either,
  });
  const running = undo.move();
  return {
    words,
    pid: server.pid,
    logFile,
    died: death.signal,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function readiness(port: number, signal: AbortSignal): Promise<true | undefined> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal });
    await answer.body?.cancel();
    return answer.ok ? true : undefined;
  } catch {
    // Not listening yet; a dead process is noticed by its own promise.
    signal.throwIfAborted();
    return undefined;
  }
}
