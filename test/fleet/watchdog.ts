import { spawn } from "node:child_process";

/**
 * Ends the processes of a fleet when this process ends in any way, also by SIGKILL: a shell reads a pipe that only this
 * process holds, and at its end kills what it was told of, newest first, and removes the fleet's folder.
 */
export interface Watchdog extends AsyncDisposable {
  readonly pid: number;
  watch(pid: number): void;
  forget(pid: number): void;
}

// A shell and not Node: it costs one megabyte, not forty, and a fleet of the performance tests is tight already.
const script = `
pids=
while read -r word pid; do
  case $word in
    watch) pids="$pid $pids" ;;
    forget)
      rest=
      for p in $pids; do [ "$p" = "$pid" ] || rest="$rest $p"; done
      pids=$rest ;;
    leave) exit 0 ;;
  esac
done
for p in $pids; do kill -KILL "$p" 2>/dev/null; done
rm -rf -- "$1"
`;

/** Starts a watchdog over processes whose files are in `folder`. */
export function startWatchdog(folder: string): Watchdog {
  // Its own process group: Ctrl-C in a terminal must not end it before its work is done.
  const shell = spawn("/bin/sh", ["-c", script, "knfleet-watchdog", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const pid = shell.pid;
  if (pid === undefined) throw new Error("Cannot start /bin/sh, which ends the fleet's processes");
  shell.unref();
  // EPIPE when somebody killed the shell: the fleet then still stops by disposal.
  shell.stdin.on("error", () => undefined);
  const tell = (line: string) => shell.stdin.write(`${line}\n`);
  return {
    pid,
    watch: (child) => void tell(`watch ${child}`),
    forget: (child) => void tell(`forget ${child}`),
    async [Symbol.asyncDispose]() {
      const gone = shell.exitCode !== null || shell.signalCode !== null;
      if (gone) return;
      shell.ref();
      const exited = new Promise((resolve) => shell.once("exit", resolve));
      shell.stdin.end("leave\n");
      await exited;
    },
  };
}
