import { delimiter, join } from "node:path";

import { type ClusterProfile, isHealthy } from "../../../../api/cluster-profile.ts";
import { FleetError } from "../../../../api/errors.ts";
import { exitCodes, UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { profileId, profileHint, findProfile, listSelectedProfiles } from "../../hub/profiles.ts";
import type { Answer } from "../../main/report.ts";
import type { Talk } from "../../main/talk.ts";
import { unreadNotes } from "../../output/notes.ts";
import { renderJson, renderYaml } from "../../output/output-format.ts";
import type { ReportError } from "../../output/report.ts";
import type { Terminal } from "../../output/terminal.ts";
import type { ClusterAccess, SpokeWays } from "../../spokes/cluster-access.ts";
import {
  execUserOf,
  kubeconfigOf,
  lastingProgram,
  spokeEntry,
  type SpokeEntry,
} from "../../spokes/exec-user.ts";
import { unreadBecause, waysOf } from "../../spokes/spoke-reading.ts";
import { changeKubeconfig, type ContextChange, mergedKubeconfig } from "./merged-kubeconfig.ts";

interface Options {
  readonly all: boolean;
  readonly merge: boolean;
  readonly yes: boolean;
  readonly dryRun: boolean;
}

/** Prints or writes a kubeconfig for the clusters that the command line names. Throws UsageError. */
export async function writeKubeconfig(fleet: Fleet, options: Options, talk: Talk): Promise<Answer> {
  const { args, env, flags, signal } = fleet;
  checkLine(args, flags, options);
  const access = await fleet.access();
  const found = await findProfiles(args, { access, flags }, signal);
  const { entries, errors, unhealthy } = entriesOf(found.profiles, {
    ways: await waysOf(access),
    flags,
    env,
  });
  const all = [...found.errors, ...errors];
  signal.throwIfAborted();
  if (entries.length > 0) {
    if (isWritten(flags, options)) await write(entries, fleet, options, talk);
    else talk.print(await renderKubeconfig(entries, flags));
  }
  const counts = { unread: all.length, clusters: entries.length + all.length };
  const incomplete = errors.length > 0 ? exitCodes.incomplete : exitCodes.fine;
  return {
    notes: [
      ...unhealthy.map((id) => `${id}: its ClusterProfile says that it is not healthy`),
      ...unreadNotes(all, counts),
      ...(counts.clusters === 0 ? ["No ClusterProfiles found."] : []),
    ],
    exitCode: found.errors.length > 0 ? exitCodes.unhealthy : incomplete,
  };
}

const formats = ["table", "json", "yaml", "name"];

/** Whether a file is written, and nothing printed. */
function isWritten({ outputFile }: Flags, { merge }: Options): boolean {
  return merge || outputFile !== undefined;
}

function checkLine(args: readonly string[], flags: Flags, options: Options): void {
  const { all, dryRun } = options;
  const { output } = flags;
  if (args.length > 0 && all) throw new UsageError("Name clusters, or give --all, not both");
  if (args.length === 0 && !all) {
    throw new UsageError("Name a ClusterProfile, or give --all", profileHint);
  }
  if (!formats.includes(output)) throw new UsageError(`kubeconfig does not print -o ${output}`);
  const writes = isWritten(flags, options);
  if (writes && ["json", "yaml"].includes(output)) {
    throw new UsageError(`With --merge there is no -o ${output}`);
  }
  if (dryRun && !writes) {
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
  { env, flags }: Fleet,
  { merge, dryRun, yes }: Options,
  talk: Talk,
): Promise<void> {
  const path = flags.outputFile ?? defaultFile(flags, env);
  let changes: readonly ContextChange[] = [];
  let outcome = "left as it is";
  await changeKubeconfig(path, async (present) => {
    const isNew = !merge || present === undefined;
    if (present !== undefined && isNew && !yes) {
      throw new UsageError(`${path} is there: nothing was written`, [
        "Add to it with --merge, or replace it with --yes.",
      ]);
    }
    const merged = mergedKubeconfig(isNew ? "" : present, entries, path);
    ({ changes } = merged);
    if (merge && changes.every(({ change }) => change === "unchanged")) return undefined;
    outcome = dryRun ? "would be written" : "written";
    if (dryRun) return undefined;
    if (merge) await talk.ask(`Contexts in ${path}: ${countsText(changes)}.`, yes);
    return isNew ? renderYaml(kubeconfigOf(entries)) : merged.text;
  });
  const rows = changes.map(({ name, change }) => [name, change]);
  if (flags.output === "name") talk.print(rows.map(([name]) => `${name}\n`).join(""));
  else talk.show({ headers: ["CONTEXT", "CHANGE"], rows });
  talk.note(`${path}: ${outcome}`);
}

function countsText(changes: readonly ContextChange[]): string {
  const counts = (["added", "changed"] as const).flatMap((change) => {
    const count = changes.filter((one) => one.change === change).length;
    return count === 0 ? [] : [`${count} ${change}`];
  });
  return counts.join(", ");
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
