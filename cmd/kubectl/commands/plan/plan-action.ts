import { plainText } from "../../../../api/foreign-text.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { type ActionInput, askedOf, openReading, print, selectionOf } from "../../action.ts";
import { openRendering } from "../../compare/open-rendering.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import { checkVersionFlag } from "../../compare/version-flag.ts";
import { type ExitCode, UsageError } from "../../errors.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { codedReason, objectLine } from "../../output/names.ts";
import { countOf, unreadNotes } from "../../output/notes.ts";
import { componentReader } from "../../selection/component-files.ts";
import { withUsageErrors } from "../../selection/input-files.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import type { PlanItem, PlannedChange } from "./plan-item.ts";
import { planTable } from "./plan-table.ts";
import { plan, type Plan, type PlanDeps, planExitCode } from "./plan.ts";
import { planUpgrade, type UpgradeWish } from "./upgrade-plan.ts";
import { upgradeNames, upgradeNotes, upgradeTable } from "./upgrade-text.ts";

/** Flags of `plan` alone. */
interface PlanFlags extends RenderingFlags {
  readonly filename?: readonly string[];
  readonly version?: string;
}

type Input = ActionInput<PlanFlags>;

/** `kubectl knfleet plan`. */
export async function runPlan(input: Input, signal: AbortSignal): Promise<ExitCode> {
  const { args, flags, options, terminal } = input;
  const { filename = [], version } = options;
  checkWish(input);
  await using access = await openClusterAccess(flags, { env: terminal.env, spokes: true }, signal);
  if (version !== undefined) {
    const selection = selectionOf(args, flags, access);
    return await planOfFleet(input, { access, selection, version }, signal);
  }
  // As with kubectl apply, a component without a namespace gets that of the context.
  const read = componentReader({ flags, terminal }, signal, access.namespace);
  const { components, notes } = await withUsageErrors(read(filename, "-f"));
  const document = await planned(
    input,
    { access, run: (deps) => plan(components, deps, signal) },
    signal,
  );
  await print(
    {
      document,
      heading: document.items.map(headingOf).join(""),
      table: (wide) => planTable(document, wide),
      names: document.items.flatMap(namesOf),
      notes: [...notes, ...notesOf(document)],
    },
    flags,
    terminal,
  );
  return planExitCode(document);
}

/** Throws UsageError unless the command line has files, or a version. */
function checkWish({ args, options: { filename = [], version } }: Input): void {
  if (filename.length === 0 && version === undefined) {
    throw new UsageError(
      "There is nothing to plan: name a file with -f, or - for standard input, or a version with --version",
      [
        "Write -f FILE, such as -f serving.yaml.",
        "Or write --version VERSION -A for an upgrade of the whole fleet.",
      ],
    );
  }
  if (version !== undefined) checkVersionFlag(version);
  if (filename.length === 0) return;
  if (version !== undefined) throw new UsageError("-f and --version exclude each other");
  if (args.length > 0) throw new UsageError(`-f is about files, not about ${args.join(" ")}`);
}

interface Planning {
  readonly access: ClusterAccess;
  readonly run: (deps: PlanDeps) => Promise<Plan>;
}

/** Makes a plan with its progress on standard error, and sorts its items. */
async function planned(
  input: Input,
  { access, run }: Planning,
  signal: AbortSignal,
): Promise<Plan> {
  const { flags, terminal } = input;
  await using settings = await openRendering(input, access, signal);
  const { limits, end } = openReading(flags, terminal);
  const found = await run({ access, limits, settings, now: terminal.now }).finally(end);
  return sortedBy(found, flags.sortBy);
}

async function planOfFleet(
  input: Input,
  { access, ...wish }: UpgradeWish & { readonly access: ClusterAccess },
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, terminal } = input;
  const run = (deps: PlanDeps): Promise<Plan> => planUpgrade(wish, deps, signal);
  const document = await planned(input, { access, run }, signal);
  const asked = { ...askedOf(wish.selection, flags), version: wish.version };
  await print(
    {
      document,
      table: (wide) => upgradeTable(document, wide),
      names: upgradeNames(document),
      notes: upgradeNotes(document, asked),
    },
    flags,
    terminal,
  );
  return planExitCode(document);
}

function headingOf(item: PlanItem): string {
  const { installation, cluster, hub, version, blocked, warnings, changes } = item;
  const place = cluster === null ? "the hub" : `${cluster.namespace}/${cluster.name}`;
  const { installed, wanted } = version;
  const versions =
    installed === wanted ? (wanted ?? "none") : `${installed ?? "none"} to ${wanted ?? "none"}`;
  const lines = [
    `${describe(installation)} on ${place}, version ${versions}`,
    `  hub: ${hubText(hub)}`,
    ...(blocked === null
      ? []
      : [`  not possible: ${codedReason(blocked)}: ${plainText(blocked.message)}`]),
    ...warnings.map((text) => `  warning: ${plainText(text)}`),
    ...(changes === null || blocked !== null ? [] : [`  cluster: ${countsText(changes)}`]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function hubText({ action, fields, message }: PlanItem["hub"]): string {
  const said = message === null ? "" : `: ${plainText(message)}`;
  const words = {
    create: "would be created",
    change: "would change",
    none: "no change",
    refused: "refused",
  };
  const paths = fields.map(({ path }) => path).join(", ");
  return `${words[action]}${said}${paths === "" ? "" : ` in ${paths}`}`;
}

function countsText(changes: readonly PlannedChange[]): string {
  if (changes.length === 0) return "no change";
  const counts = (["create", "change", "recreate", "prune", "wait", "refused"] as const).flatMap(
    (action) => {
      const count = changes.filter((change) => change.action === action).length;
      return count === 0 ? [] : [`${count} ${words[action]}`];
    },
  );
  const pods = changes.reduce((sum, change) => sum + change.pods, 0);
  const restarts = changes.filter((change) => change.pods > 0).length;
  const after =
    pods === 0
      ? "no pod restarts"
      : `${countOf(pods, "pod")} of ${countOf(restarts, "workload")} restart`;
  return `${counts.join(", ")}; ${after}`;
}

const words = {
  create: "to create",
  change: "to change",
  recreate: "to make anew",
  prune: "to delete",
  wait: "to wait for",
  refused: "refused",
} as const;

function namesOf({ cluster, changes }: PlanItem): readonly string[] {
  return (changes ?? []).map(({ object }) => objectLine(cluster, object));
}

function notesOf({ items, errors, summary }: Plan): readonly string[] {
  const clusters = new Set(items.map(({ cluster }) => JSON.stringify(cluster))).size;
  const { blocked, components } = summary;
  return [
    ...(blocked === 0
      ? []
      : [`${blocked} of ${countOf(components, "component")} could not be applied.`]),
    "Nothing was changed.",
    ...unreadNotes(errors, { unread: summary.unread, clusters }),
  ];
}
