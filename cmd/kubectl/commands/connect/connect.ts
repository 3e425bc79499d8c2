import { spawn } from "node:child_process";
import { constants } from "node:os";
import { basename, join } from "node:path";
import { isatty } from "node:tty";

import type { ResolvedAccess } from "../../../../access/spokes/resolved-access.ts";
import { Follower } from "../../../../access/time/deadline.ts";
import { type ClusterProfile, isHealthy } from "../../../../api/cluster-profile.ts";
import { allKinds } from "../../../../api/component.ts";
import type { ActionInput } from "../../action.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { listInstallations } from "../../hub/installations.ts";
import { profileId, profileHint, findProfile } from "../../hub/profiles.ts";
import type { Answer } from "../../main/report.ts";
import type { Talk } from "../../main/talk.ts";
import { renderJson } from "../../output/output-format.ts";
import { words } from "../../output/steps.ts";
import type { SpokeWays } from "../../spokes/cluster-access.ts";
import { execUserOf, kubeconfigOf, runningProgram, spokeEntry } from "../../spokes/exec-user.ts";
import { makePrivateFolder, type PrivateFolder } from "../../spokes/private-folder.ts";
import { isPulled } from "../../spokes/read-clusters.ts";
import { pullOnly, waysOf } from "../../spokes/spoke-reading.ts";

/** Starts a shell or a command for one cluster. The exit code is that of the shell or the command. */
export async function connectCluster(fleet: Fleet, talk: Talk): Promise<Answer> {
  const { name, command } = wantedOf(fleet.asInput({}));
  const found = await lookUp(name, fleet);
  const { cluster, config } = found;
  if (!found.isHealthy) talk.note(`${cluster}: its ClusterProfile says that it is not healthy`);
  // Not process.stdin: it would make the child's input non-blocking.
  using held = handOver(fleet.signal, isatty(0));
  await using folder = await makePrivateFolder();
  const KUBECONFIG = await folder.write("config", renderJson(config));
  const env = { ...fleet.env, KUBECONFIG, KNFLEET_CLUSTER: cluster };
  const [first, ...args] = command;
  const start: ChildStart =
    first === undefined
      ? await shellOf(cluster, folder, env)
      : { command: first, args, env, endSignal: "SIGTERM" };
  // Must be awaited here: the folder is removed when this function returns.
  return { exitCode: await runChild(start, held.signal) };
}

interface Wanted {
  readonly name: string;
  /** Empty: a shell. */
  readonly command: readonly string[];
}

function wantedOf({ args, terminal }: ActionInput<object>): Wanted {
  const end = terminal.args.indexOf("--");
  const command = end < 0 ? [] : terminal.args.slice(end + 1);
  // The parser removes `--` from the arguments.
  const [name, ...others] = args.slice(0, args.length - command.length);
  if (name === undefined || (end >= 0 && others.length > 0)) {
    throw new UsageError("Name one ClusterProfile", profileHint);
  }
  if (others.length === 0 && (end < 0 || command.length > 0)) return { name, command };
  throw new UsageError(end < 0 ? "A command stands after --" : "There is no command after --", [
    `${words("kubectl", "knfleet", "connect", name)} -- kubectl get pods`,
  ]);
}

/** The way to the cluster of a profile. Throws UsageError for a cluster that pulls and has none, and FleetError for any other. */
async function wayTo(
  profile: ClusterProfile,
  ways: SpokeWays,
  fleet: Fleet,
): Promise<ResolvedAccess> {
  try {
    return ways.resolve(profile);
  } catch (error) {
    const cluster = profileId(profile);
    const all = { names: [], kinds: allKinds };
    const components = await listInstallations(await fleet.access(), all, fleet.signal).catch(
      () => [],
    );
    if (!isPulled(components, cluster)) throw error;
    throw new UsageError(`${cluster}: ${pullOnly.state} ${pullOnly.reason}: ${pullOnly.message}`, [
      words("kubectl", "knfleet", "status", "-A", `--cluster=${cluster}`),
    ]);
  }
}

interface Found {
  readonly cluster: string;
  readonly config: object;
  readonly isHealthy: boolean;
}

/** Looks up the cluster on the hub, and closes the connection to the hub before the shell starts. */
async function lookUp(name: string, given: Fleet): Promise<Found> {
  await using fleet = given.with({});
  const { env, flags, signal } = fleet;
  const access = await fleet.access();
  const ways = await waysOf(access);
  const profile = await findProfile(name, { access, flags }, signal);
  const cluster = profileId(profile);
  const exec = execUserOf(flags, { env, program: runningProgram() })(cluster);
  const { endpoint } = await wayTo(profile, ways, fleet);
  const config = kubeconfigOf([spokeEntry(cluster, endpoint, exec)]);
  return { cluster, config, isHealthy: isHealthy(profile) };
}

async function shellOf(
  cluster: string,
  folder: PrivateFolder,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ChildStart> {
  const { SHELL = "", HOME = "", ZDOTDIR = HOME } = env;
  const command = SHELL === "" ? "/bin/sh" : SHELL;
  const start = shellStart(command, { cluster, folder: folder.path, home: ZDOTDIR });
  for (const [name, text] of Object.entries(start.files)) {
    // oxlint-disable-next-line no-await-in-loop -- one file at most
    await folder.write(name, text);
  }
  return { command, args: start.args, env: { ...env, ...start.env }, endSignal: "SIGHUP" };
}

/** How a shell is started so that its prompt shows a cluster. */
interface ShellStart {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files for the folder, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Arguments, variables and files for a shell that reads the user's settings and then puts the cluster in front of its prompt. An unknown shell is started
 * without them. `cluster` is a valid Kubernetes name, so it has no character that is special in a shell.
 */
export function shellStart(
  shell: string,
  { cluster, folder, home }: Readonly<Record<"cluster" | "folder" | "home", string>>,
): ShellStart {
  const mark = `(${cluster}) `;
  switch (basename(shell).replace(/\.exe$/, "")) {
    case "bash":
      return {
        args: ["--rcfile", join(folder, "bashrc"), "-i"],
        env: {},
        files: { bashrc: `[ -f ~/.bashrc ] && . ~/.bashrc\nPS1='${mark}'"$PS1"\n` },
      };
    case "zsh":
      return {
        args: ["-i"],
        env: { ZDOTDIR: folder, KNFLEET_ZDOTDIR: home },
        files: {
          ".zshrc": `ZDOTDIR="$KNFLEET_ZDOTDIR"\nunset KNFLEET_ZDOTDIR\n[ -f "$ZDOTDIR/.zshrc" ] && . "$ZDOTDIR/.zshrc"\nPROMPT='${mark}'"$PROMPT"\n`,
        },
      };
    case "fish":
      return {
        args: [
          "-i",
          "-C",
          `functions -c fish_prompt __knfleet_prompt; function fish_prompt; echo -n '${mark}'; __knfleet_prompt; end`,
        ],
        env: {},
        files: {},
      };
    case "sh":
    case "dash":
    case "ash":
    case "ksh":
      return { args: ["-i"], env: { PS1: `${mark}$ ` }, files: {} };
    default:
      return { args: [], env: {}, files: {} };
  }
}

/** A program to run on our terminal. */
interface ChildStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Signal that ends it; interactive shells ignore SIGTERM. */
  readonly endSignal: "SIGTERM" | "SIGHUP";
}

const endMs = 5_000;

/**
 * Runs a program on our streams and returns its exit code, or 128 plus the number of the signal that ended it. When `signal` aborts, the program gets
 * its end signal, and is killed five seconds later. Throws UsageError for a program that cannot be started.
 */
async function runChild(
  { command, args, env, endSignal }: ChildStart,
  signal: AbortSignal,
): Promise<number> {
  signal.throwIfAborted();
  const child = spawn(command, args, { env, stdio: "inherit", shell: false });
  const end = Promise.withResolvers<number>();
  child.once("error", (error) => {
    const code = "code" in error ? String(error.code) : "failed";
    end.reject(new UsageError(`${command} cannot be started (${code})`));
  });
  child.once("close", (code, name) => {
    end.resolve(code ?? 128 + (name === null ? 0 : constants.signals[name]));
  });
  let late: NodeJS.Timeout | undefined;
  const stop = (): void => {
    child.kill(endSignal);
    late = setTimeout(() => child.kill("SIGKILL"), endMs);
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await end.promise;
  } finally {
    signal.removeEventListener("abort", stop);
    clearTimeout(late);
  }
}

/** A terminal that is handed over to a child process. */
interface HandOver extends Disposable {
  /** Aborts with the given signal, and when the terminal goes away. */
  readonly signal: AbortSignal;
}

/**
 * While the child runs on our terminal, only the child handles Ctrl-C: the terminal sends it SIGINT directly. SIGHUP, the end of the terminal, aborts the
 * signal, so that files are removed.
 */
function handOver(signal: AbortSignal, isTerminal: boolean): HandOver {
  const end = new Follower(signal);
  const onHangup = (): void => end.abort();
  process.on("SIGHUP", onHangup);
  const own = isTerminal ? process.listeners("SIGINT") : [];
  if (isTerminal) {
    // Without any listener Node would end the process.
    process.on("SIGINT", ignore);
    for (const listener of own) process.off("SIGINT", listener);
  }
  return {
    signal: end.signal,
    [Symbol.dispose]() {
      end[Symbol.dispose]();
      process.off("SIGHUP", onHangup);
      for (const listener of own) process.on("SIGINT", listener);
      process.off("SIGINT", ignore);
    },
  };
}

function ignore(): void {}
