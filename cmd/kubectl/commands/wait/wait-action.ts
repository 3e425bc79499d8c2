import { byText } from "../../../../api/fields.ts";
import { type ActionInput, print } from "../../action.ts";
import type { FilenameFlag } from "../../common-options.ts";
import { type ExitCode, UsageError } from "../../errors.ts";
import { watchHub } from "../../hub/hub-changes.ts";
import { listInstallations } from "../../hub/installations.ts";
import { parseDurationMs } from "../../output/duration.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames, nameKey, nameOf } from "../../output/names.ts";
import { reportOf, stampAt } from "../../output/report.ts";
import { orNone, type Table } from "../../output/table.ts";
import { readSelection } from "../../selection/selection-file.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { type Subject, untilDone } from "./until-done.ts";
import { askedSets, checkSetFlags, setGoalOf, setSubject } from "./wait-sets.ts";
import {
  type Goal,
  goalOf,
  minimumOf,
  waitExitCode,
  type WaitItem,
  waitItems,
  type WaitReport,
  type WaitSummary,
} from "./wait.ts";

/** Flags of `wait` alone. */
interface WaitFlags extends FilenameFlag {
  readonly for?: string;
  readonly min?: string;
  readonly stable?: string;
}

const defaultTimeoutMs = 600_000;

/** `kubectl knfleet wait`. */
export async function runWait(
  input: ActionInput<WaitFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const subjectOf = subjectReader(input);
  const min = options.min ?? "100%";
  minimumOf(min, 0);
  const wantedMs = parseDurationMs(options.stable ?? "0s", "--stable");
  // One look cannot tell for how long.
  const isOneLook = flags.timeoutZero === true;
  const stableMs = isOneLook ? 0 : wantedMs;
  const timeoutMs = flags.timeoutGiven ? flags.timeoutMs : defaultTimeoutMs;
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: false }, signal);
  const subject = await subjectOf(access, min, signal);
  const failFast = flags.failFast ?? true;
  const { items, summary } = await untilDone(
    { subject, min, failFast, stableMs, isOneLook, timeoutMs },
    signal,
  );
  return await finish(items, summary, input);
}

type ReadSubject = (access: ClusterAccess, min: string, signal: AbortSignal) => Promise<Subject>;

/** Reads which sets or installations are waited for, and until what; the hub is not needed for that. Throws UsageError, as what it returns. */
function subjectReader(input: ActionInput<WaitFlags>): ReadSubject {
  const { args, flags, options } = input;
  const sets = askedSets(args);
  if (sets === undefined) {
    const goal = goalOf(options.for ?? "ready");
    return (access, min, signal) => installationSubject(goal, { input, access, min }, signal);
  }
  const goal = setGoalOf(options.for ?? "complete");
  checkSetFlags(input);
  return async (access, min) => {
    const namespace = flags.namespace === null ? access.namespace : flags.namespace;
    checkMinimum(min, { ...sets, namespace });
    const place = { access, namespace, labelSelector: flags.selector };
    return await Promise.resolve(setSubject(goal, sets, place));
  };
}

interface Installations {
  readonly input: ActionInput<WaitFlags>;
  readonly access: ClusterAccess;
  readonly min: string;
}

async function installationSubject(
  goal: Goal,
  { input, access, min }: Installations,
  signal: AbortSignal,
): Promise<Subject> {
  const selection = await readSelection(input, access, signal);
  checkMinimum(min, selection);
  return {
    changes: (until) => watchHub(access, selection, until),
    read: async (before, until) => {
      const components = await listInstallations(access, selection, until);
      return waitItems(goal, components, { selection, before });
    },
    mayBeEmpty: goal.kind === "deleted",
  };
}

interface Named {
  readonly names: readonly { readonly kind?: string; readonly namespace?: string }[];
  readonly namespace?: string | undefined;
  readonly kinds: readonly string[];
}

/** More than can ever be there would be waited for in vain. Throws UsageError. */
function checkMinimum(min: string, { names, namespace, kinds }: Named): void {
  const isFixed =
    names.length > 0 && names.every((one) => (one.namespace ?? namespace) !== undefined);
  if (!isFixed) return;
  const most = names.reduce((sum, { kind }) => sum + (kind === undefined ? kinds.length : 1), 0);
  if (minimumOf(min, most) <= most) return;
  throw new UsageError(`--min ${min} is more than the ${most} that are waited for`);
}

async function finish(
  items: readonly WaitItem[],
  summary: WaitSummary,
  { flags, terminal }: ActionInput<WaitFlags>,
): Promise<ExitCode> {
  const report: WaitReport = sortedBy(
    reportOf("Wait", stampAt(terminal.now()), {
      complete: summary.outcome !== "interrupted",
      summary,
      items: items.toSorted(byText(sortKeyOf)),
      errors: [],
    }),
    flags.sortBy,
  );
  await print(
    {
      document: report,
      table: (wide) => waitTable(report.items, wide),
      names: report.items.flatMap(metName),
      notes: [noteOf(summary)],
    },
    flags,
    terminal,
  );
  return waitExitCode(summary);
}

/** As kubectl: the names of the objects that meet the condition. */
function metName({ state, kind, name }: WaitItem): readonly string[] {
  return state === "met" && kind !== null ? [nameOf({ kind, name })] : [];
}

const ranks = { failed: 0, waiting: 1, inProgress: 2, met: 3 } as const;

function sortKeyOf(item: WaitItem): string {
  return `${ranks[item.state]}\u0000${nameKey(item)}`;
}

const tones = { met: "good", inProgress: "warning", waiting: "warning", failed: "bad" } as const;
const stateWords = {
  met: "met",
  inProgress: "in progress",
  waiting: "waiting",
  failed: "failed",
} as const;

function waitTable(items: readonly WaitItem[], wide: boolean): Table {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  const code = wide ? ["CODE"] : [];
  return {
    headers: ["NAMESPACE", "NAME", "KIND", "CLUSTER", "STATE", ...code, "REASON", "MESSAGE"],
    mayShorten: ["MESSAGE"],
    rows: items.map(({ namespace, name, kind, cluster, state, message, ...why }) => [
      orNone(namespace),
      name,
      orNone(kind),
      why.reason === "NotFound" ? "<unknown>" : clusterOf(cluster),
      { text: stateWords[state], tone: tones[state] },
      ...(wide ? [orNone(why.code)] : []),
      orNone(why.reason),
      orNone(message),
    ]),
  };
}

function noteOf({ met, total, wanted, outcome, elapsedSeconds }: WaitSummary): string {
  if (total === 0 && outcome !== "met")
    return "error: There is nothing to wait for: no installation matches";
  const counts = `${met} of ${total}, ${wanted} wanted, after ${elapsedSeconds} s`;
  const words = {
    met: "met",
    failed: "error: it cannot become true without help",
    timedOut: "error: timed out",
    interrupted: "interrupted",
  };
  return `${words[outcome]}: ${counts}`;
}
