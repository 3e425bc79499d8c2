import { isatty } from "node:tty";

import { isHealthy } from "../../../../access/providers/select-provider.ts";
import type { ActionInput } from "../../action.ts";
import { words } from "../../commands.ts";
import { profileId, profileNamed } from "../../hub/profiles.ts";
import { renderJson } from "../../output/structured.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { makePrivateFolder, type PrivateFolder } from "../../spokes/private-folder.ts";
import { waysOf } from "../../spokes/spoke-ways.ts";
import { UsageError } from "../../usage-error.ts";
import { execUserOf, runningProgram, kubeconfigOf, spokeEntry } from "../kubeconfig/exec-user.ts";
import { runChild, type ChildStart, shellStart, handOver } from "./run-child.ts";

/** `kubectl knfleet connect`. The exit code is that of the shell or the command. */
export async function runConnect(input: ActionInput<object>, signal: AbortSignal): Promise<number> {
  const { flags, terminal } = input;
  const { name, command } = wantedOf(input);
  const found = await lookUp(name, input, signal);
  const { cluster, config } = found;
  if (!found.isHealthy && !flags.quiet) {
    terminal.stderr.write(`${cluster}: its ClusterProfile says that it is not healthy\n`);
  }
  // Not process.stdin, which would make what a child reads non-blocking.
  using held = handOver(signal, isatty(0));
  await using folder = await makePrivateFolder();
  const KUBECONFIG = await folder.write("config", renderJson(config));
  const env = { ...terminal.env, KUBECONFIG, KNFLEET_CLUSTER: cluster };
  const [first, ...args] = command;
  const start: ChildStart =
    first === undefined
      ? await shellOf(cluster, folder, env)
      : { command: first, args, env, endSignal: "SIGTERM" };
  // Awaited here, or the folder would be gone before the child looks into it.
  return await runChild(start, held.signal);
}

interface Wanted {
  readonly name: string;
  /** Empty: a shell. */
  readonly command: readonly string[];
}

function wantedOf({ args, terminal }: ActionInput<object>): Wanted {
  const end = terminal.args.indexOf("--");
  const command = end < 0 ? [] : terminal.args.slice(end + 1);
  // What the parser hands on has no dashes any more.
  const [name, ...others] = args.slice(0, args.length - command.length);
  if (name === undefined || (end >= 0 && others.length > 0)) {
    throw new UsageError("Name one ClusterProfile", [
      "Write NAMESPACE/NAME of a ClusterProfile. This lists them:",
      "kubectl get clusterprofiles.multicluster.x-k8s.io -A",
    ]);
  }
  if (others.length === 0 && (end < 0 || command.length > 0)) return { name, command };
  throw new UsageError(end < 0 ? "A command stands after --" : "There is no command after --", [
    `${words("kubectl", "knfleet", "connect", name)} -- kubectl get pods`,
  ]);
}

interface Found {
  readonly cluster: string;
  readonly config: object;
  readonly isHealthy: boolean;
}

/** The connection to the hub is closed again before the shell is there. */
async function lookUp(
  name: string,
  { flags, terminal: { env } }: ActionInput<object>,
  signal: AbortSignal,
): Promise<Found> {
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const ways = await waysOf(access);
  const profile = await profileNamed(name, { access, flags }, signal);
  const cluster = profileId(profile);
  const exec = execUserOf(flags, { env, program: runningProgram() })(cluster);
  const config = kubeconfigOf([spokeEntry(cluster, ways.resolve(profile).endpoint, exec)]);
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
