import { delimiter, join } from "node:path";

import { type ClusterProfile, isHealthy } from "../../../../api/cluster-profile.ts";
import { FleetError } from "../../../../api/errors.ts";
import { type ActionInput, tableText } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { profileId, profileHint, findProfile, listSelectedProfiles } from "../../hub/profiles.ts";
import { unreadNotes } from "../../output/notes.ts";
import { renderJson, renderYaml } from "../../output/output-format.ts";
import type { ReportError } from "../../output/report.ts";
import { askForAgreement, documentOutput, type Terminal } from "../../output/terminal.ts";
import type { ClusterAccess, SpokeWays } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { unreadBecause, waysOf } from "../../spokes/spoke-reading.ts";
import {
  execUserOf,
  kubeconfigOf,
  lastingProgram,
  spokeEntry,
  type SpokeEntry,
} from "./exec-user.ts";
import { changeKubeconfig, type ContextChange, mergedKubeconfig } from "./merged-kubeconfig.ts";

/** Flags of `kubeconfig` alone. */
interface KubeconfigFlags {
  readonly all?: boolean;
  readonly merge?: boolean;
  /** File of `-o`. */
  readonly file?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** `kubectl knfleet kubeconfig`. */
export async function runKubeconfig(
  input: ActionInput<KubeconfigFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { args, flags, options, terminal } = input;
  checkLine(input);
  const { env, stderr } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const found = await findProfiles(args, { access, flags }, signal);
  const { entries, errors, unhealthy } = entriesOf(found.profiles, {
    ways: await waysOf(access),
    flags,
    env,
  });
  const all = [...found.errors, ...errors];
  signal.throwIfAborted();
  if (entries.length > 0) {
    const isWritten = options.merge === true || options.file !== undefined;
    if (isWritten) await write(entries, input);
    else documentOutput(terminal).write(await renderKubeconfig(entries, flags));
  }
  if (!flags.quiet) {
    const counts = { unread: all.length, clusters: entries.length + all.length };
    const notes = [
      ...unhealthy.map((id) => `${id}: its ClusterProfile says that it is not healthy`),
      ...unreadNotes(all, counts),
      ...(counts.clusters === 0 ? ["No ClusterProfiles found."] : []),
    ];
    stderr.write(notes.map((note) => `${note}\n`).join(""));
  }
  if (found.errors.length > 0) return exitCodes.unhealthy;
  return errors.length > 0 ? exitCodes.incomplete : exitCodes.fine;
}

const formats = ["table", "json", "yaml", "name"];

function checkLine({ args, flags, options }: ActionInput<KubeconfigFlags>): void {
  const { all = false } = options;
  if (args.length > 0 && all) throw new UsageError("Name clusters, or give --all, not both");
  if (args.length === 0 && !all) {
    throw new UsageError("Name a ClusterProfile, or give --all", profileHint);
  }
  checkOutput(flags.output, options);
}

function checkOutput(output: Flags["output"], options: KubeconfigFlags): void {
  if (!formats.includes(output)) throw new UsageError(`kubeconfig does not print -o ${output}`);
  const writes = options.merge === true || options.file !== undefined;
  if (writes && ["json", "yaml"].includes(output)) {
    throw new UsageError(`With --merge there is no -o ${output}`);
  }
  if (options.dryRun === true && !writes) {
    throw new UsageError("--dry-run is for what writes a file: --merge, or -o FILE");
  }
}

interface Found {
  readonly profiles: readonly ClusterProfile[];
  /** Names that no ClusterProfile has. */
  readonly errors: readonly ReportError[];
}

async function findProfiles(
  args: readonly string[],
  deps: { readonly access: ClusterAccess; readonly flags: Flags },
  signal: AbortSignal,
): Promise<Found> {
  if (args.length === 0) return { profiles: await listSelectedProfiles(deps, signal), errors: [] };
  const profiles = new Map<string, ClusterProfile>();
  const errors: ReportError[] = [];
  for (const arg of args) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- a few names, and the first that is wrong ends it
      const profile = await findProfile(arg, deps, signal);
      profiles.set(profileId(profile), profile);
    } catch (error) {
      if (!(error instanceof FleetError) || error.reason !== "ClusterProfileNotFound") throw error;
      errors.push({ reason: "NotFound", message: error.message, cluster: null });
    }
  }
  return { profiles: [...profiles.values()], errors };
}

interface Entries {
  readonly entries: readonly SpokeEntry[];
  /** Clusters for which no entry can be made. */
  readonly errors: readonly ReportError[];
  readonly unhealthy: readonly string[];
}

function entriesOf(
  profiles: readonly ClusterProfile[],
  {
    ways,
    flags,
    env,
  }: {
    readonly ways: SpokeWays;
    readonly flags: Flags;
    readonly env: Terminal["env"];
  },
): Entries {
  const execOf = execUserOf(flags, { env, program: lastingProgram(env) });
  const entries: SpokeEntry[] = [];
  const errors: ReportError[] = [];
  for (const profile of profiles) {
    const cluster = profileId(profile);
    try {
      entries.push(spokeEntry(cluster, ways.resolve(profile).endpoint, execOf(cluster)));
    } catch (error) {
      const { reason, message } = unreadBecause(error, 0);
      errors.push({ reason, message, cluster });
    }
  }
  const unhealthy = profiles.filter((profile) => !isHealthy(profile)).map(profileId);
  return { entries, errors, unhealthy };
}

async function renderKubeconfig(entries: readonly SpokeEntry[], flags: Flags): Promise<string> {
  if (flags.output === "name") return entries.map(({ name }) => `${name}\n`).join("");
  const document = kubeconfigOf(entries);
  return flags.output === "json" ? renderJson(document) : await renderYaml(document);
}

/** Writes the file, or says what would be written. */
async function write(
  entries: readonly SpokeEntry[],
  input: ActionInput<KubeconfigFlags>,
): Promise<void> {
  const { flags, options, terminal } = input;
  const { merge = false, dryRun = false } = options;
  const path = options.file ?? defaultFile(flags, terminal.env);
  let changes: readonly ContextChange[] = [];
  let outcome = "left as it is";
  await changeKubeconfig(path, async (present) => {
    if (present !== undefined) checkReplace(path, options);
    const merged = mergedKubeconfig(merge ? (present ?? "") : "", entries, path);
    ({ changes } = merged);
    if (merge && changes.every(({ change }) => change === "unchanged")) return undefined;
    outcome = dryRun ? "would be written" : "written";
    if (dryRun) return undefined;
    if (merge) await askUser(changes, path, input);
    const isNew = !merge || present === undefined;
    return isNew ? renderYaml(kubeconfigOf(entries)) : merged.text;
  });
  terminal.stdout.write(changesText(changes, flags, terminal));
  if (!flags.quiet) terminal.stderr.write(`${path}: ${outcome}\n`);
}

function checkReplace(path: string, { merge = false, yes = false }: KubeconfigFlags): void {
  if (merge || yes) return;
  throw new UsageError(`${path} is there: nothing was written`, [
    "Add to it with --merge, or replace it with --yes.",
  ]);
}

async function askUser(
  changes: readonly ContextChange[],
  path: string,
  { flags: { input }, options, terminal }: ActionInput<KubeconfigFlags>,
): Promise<void> {
  const counts = (["added", "changed"] as const).flatMap((change) => {
    const count = changes.filter((one) => one.change === change).length;
    return count === 0 ? [] : [`${count} ${change}`];
  });
  const question = `Contexts in ${path}: ${counts.join(", ")}.`;
  await askForAgreement(question, { yes: options.yes === true, input }, terminal);
}

function changesText(changes: readonly ContextChange[], flags: Flags, terminal: Terminal): string {
  if (flags.output === "name") return changes.map(({ name }) => `${name}\n`).join("");
  const rows = changes.map(({ name, change }) => [name, change]);
  return tableText({ headers: ["CONTEXT", "CHANGE"], rows }, flags, terminal);
}

/** The file that kubectl would change. */
function defaultFile({ hub }: Flags, env: Terminal["env"]): string {
  const [listed] = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  const file = hub.kubeconfig ?? listed;
  if (file !== undefined) return file;
  const home = env["HOME"] ?? "";
  if (home !== "") return join(home, ".kube", "config");
  throw new UsageError("There is no home folder: name a file with -o");
}
