import { byText } from "../../../../api/fields.ts";
import { fleetSetKinds } from "../../../../api/fleet-set.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { readControllerView } from "../../hub/controller-view.ts";
import { watchHub } from "../../hub/hub-changes.ts";
import { listInstallations } from "../../hub/installations.ts";
import type { Report } from "../../main/report.ts";
import { type Columns, onCluster, shortened, toned, wide } from "../../output/columns.ts";
import { nameKey, nameOf } from "../../output/names.ts";
import { controllerLines } from "../../output/notes.ts";
import { type Subject, untilDone } from "./until-done.ts";
import { askedSets, checkSetFlags, setGoalOf, setSubject } from "./wait-sets.ts";
import {
  type Goal,
  goalOf,
  minimumOf,
  waitExitCode,
  type WaitItem,
  waitItems,
  type WaitSummary,
} from "./wait.ts";

/** Flags of `wait`. */
interface WaitFlags {
  readonly filename: string | undefined;
  readonly for: string | undefined;
  readonly min: string | undefined;
  /** How long it has to stay true, in ms. */
  readonly stable: number | undefined;
}

const defaultTimeoutMs = 600_000;

/** Waits until installations or fleet sets are as they should be, or cannot become so. Throws UsageError, and what the first look throws. */
export async function waitForGoal(fleet: Fleet, options: WaitFlags): Promise<Report<WaitItem>> {
  const { flags } = fleet;
  const subjectOf = subjectReader(fleet, options);
  const { min = "100%", stable = 0 } = options;
  minimumOf(min, 0);
  const subject = await subjectOf(min);
  const { items, summary } = await untilDone(
    {
      subject,
      min,
      failFast: flags.failFast ?? true,
      // One look cannot tell for how long.
      stableMs: flags.timeoutZero === true ? 0 : stable,
      isOneLook: flags.timeoutZero === true,
      timeoutMs: flags.timeoutGiven ? flags.timeoutMs : defaultTimeoutMs,
    },
    fleet.signal,
  );
  const idle = summary.outcome === "timedOut" ? await idleLines(items, fleet) : [];
  return {
    items: items.toSorted(byText((item) => `${ranks[item.state]}\u0000${nameKey(item)}`)),
    summary,
    errors: [],
    complete: summary.outcome !== "interrupted",
    exitCode: waitExitCode(summary),
    columns,
    // As kubectl: the names of the objects that meet the condition.
    name: ({ state, kind, name }) =>
      state === "met" && kind !== null ? nameOf({ kind, name }) : undefined,
    notes: () => [...idle, noteOf(summary)],
  };
}

function isSet({ kind }: WaitItem): boolean {
  return kind !== null && Object.hasOwn(fleetSetKinds, kind);
}

/** The lines that say that no controller works for what was waited for in vain, or that this could not be looked at. */
async function idleLines(items: readonly WaitItem[], fleet: Fleet): Promise<readonly string[]> {
  const { now, signal, commands, flags } = fleet;
  const access = await fleet.access();
  const open = items.filter(({ state }) => state !== "met");
  const served = {
    clusters: open.filter((item) => !isSet(item)).map(({ cluster }) => cluster),
    hasSets: open.some(isSet),
  };
  const controller = await readControllerView(served, { access, now }, signal);
  return flags.quiet ? [] : controllerLines({ controller }, { commands });
}

/** Reads which sets or installations are waited for, and until what; the hub is not needed for that. Throws UsageError, as what it returns. */
function subjectReader(
  fleet: Fleet,
  { for: goalText, filename }: WaitFlags,
): (min: string) => Promise<Subject> {
  const sets = askedSets(fleet.args);
  if (sets === undefined) {
    const goal = goalOf(goalText ?? "ready");
    return (min) => installationSubject(fleet, goal, min);
  }
  const goal = setGoalOf(goalText ?? "complete");
  checkSetFlags(fleet.flags, filename);
  return async (min) => {
    const [access, namespace] = [await fleet.access(), await fleet.namespace()];
    checkMinimum(min, { ...sets, namespace });
    return setSubject(goal, sets, { access, namespace, labelSelector: fleet.flags.selector });
  };
}

async function installationSubject(fleet: Fleet, goal: Goal, min: string): Promise<Subject> {
  const [access, selection] = [await fleet.access(), await fleet.selection()];
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

const ranks = { failed: 0, waiting: 1, inProgress: 2, met: 3 } as const;

const tones = { met: "good", inProgress: "warning", waiting: "warning", failed: "bad" } as const;
const stateWords = {
  met: "met",
  inProgress: "in progress",
  waiting: "waiting",
  failed: "failed",
} as const;

const columns: Columns<WaitItem> = {
  NAMESPACE: ({ namespace }) => namespace,
  NAME: ({ name }) => name,
  KIND: ({ kind }) => kind,
  CLUSTER: onCluster(({ reason, cluster }) => (reason === "NotFound" ? "<unknown>" : cluster)),
  STATE: ({ state }) => toned(tones[state], stateWords[state]),
  CODE: wide(({ code }) => code),
  REASON: ({ reason }) => reason,
  MESSAGE: shortened(({ message }) => message),
};

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
