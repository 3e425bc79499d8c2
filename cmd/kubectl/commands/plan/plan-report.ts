import { plainText } from "../../../../api/foreign-text.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { checkVersion } from "../../compare/check-version.ts";
import { openRendering } from "../../compare/open-rendering.ts";
import type { PlanItem, PlannedChange } from "../../compare/plan-item.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { codedReason, objectLine } from "../../output/names.ts";
import { countOf } from "../../output/notes.ts";
import { componentReader } from "../../selection/component-files.ts";
import { withUsageErrors } from "../../selection/input-files.ts";
import { planTable } from "./plan-table.ts";
import { planFiles } from "./plan.ts";
import { planUpgrade } from "./upgrade-plan.ts";
import { upgradeReport } from "./upgrade-text.ts";

/** Flags of `plan`. */
interface PlanFlags extends RenderingFlags {
  readonly filename: readonly string[];
  readonly version: string | undefined;
}

/** What applying files, or an upgrade of the selected installations, would change. Throws UsageError, and when the hub cannot be asked. */
export async function planReport(
  fleet: Fleet,
  { filename, version, ...rendering }: PlanFlags,
): Promise<Report<PlanItem>> {
  checkWish(fleet.args, filename, version);
  checkVersion(version);
  const access = await fleet.access();
  const input = fleet.asInput(rendering);
  if (version !== undefined) {
    await using settings = await openRendering(input, access, fleet.signal);
    return upgradeReport(await planUpgrade(fleet, version, settings), version, fleet);
  }
  // As with kubectl apply, a component without a namespace gets that of the context.
  const read = componentReader(input, fleet.signal, access.namespace);
  const { components, notes } = await withUsageErrors(read(filename, "-f"));
  await using settings = await openRendering(input, access, fleet.signal);
  const planned = await planFiles(fleet, components, settings);
  const { blocked, components: all } = planned.summary;
  return {
    ...planned,
    heading: (_, items) => items.map(headingOf).join(""),
    tables: ({ isWide }, items) => [planTable(items, isWide)],
    name: ({ cluster, changes }) =>
      (changes ?? []).map(({ object }) => objectLine(cluster, object)),
    notes: () => [
      ...notes,
      ...(blocked === 0
        ? []
        : [`${blocked} of ${countOf(all, "component")} could not be applied.`]),
      "Nothing was changed.",
    ],
    advises: false,
  };
}

/** Throws UsageError unless the command line has files, or a version. */
function checkWish(
  args: readonly string[],
  filename: readonly string[],
  version: string | undefined,
): void {
  if (filename.length === 0 && version === undefined) {
    throw new UsageError(
      "There is nothing to plan: name a file with -f, or - for standard input, or a version with --version",
      [
        "Write -f FILE, such as -f serving.yaml.",
        "Or write --version VERSION -A for an upgrade of the whole fleet.",
      ],
    );
  }
  if (filename.length === 0) return;
  if (version !== undefined) throw new UsageError("-f and --version exclude each other");
  if (args.length > 0) throw new UsageError(`-f is about files, not about ${args.join(" ")}`);
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
