import { plainText } from "../../../../api/foreign-text.ts";
import { describe } from "../../../../api/kubernetes.ts";
import { type ActionInput, openReading, print } from "../../action.ts";
import { openRendering } from "../../compare/open-rendering.ts";
import type { RenderingFlags } from "../../compare/rendering-options.ts";
import { type ExitCode, UsageError } from "../../errors.ts";
import { sortedBy } from "../../output/jsonpath.ts";
import { clusterNames, codedReason, objectLine } from "../../output/names.ts";
import { countOf, unreadNotes } from "../../output/notes.ts";
import { orNone, type Table } from "../../output/table.ts";
import { withUsageErrors } from "../../selection/input-files.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import { componentReader } from "../render/render-files.ts";
import type { PlanItem, PlannedChange } from "./plan-item.ts";
import { plan, type Plan, planExitCode } from "./plan.ts";

/** Flags of `plan` alone. */
interface PlanFlags extends RenderingFlags {
  readonly filename?: readonly string[];
}

/** `kubectl knfleet plan`. */
export async function runPlan(
  input: ActionInput<PlanFlags>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { flags, options, terminal } = input;
  const { env, now } = terminal;
  const { filename = [] } = options;
  if (filename.length === 0) {
    throw new UsageError("There is nothing to plan: name a file with -f, or - for standard input", [
      "Write -f FILE, such as -f serving.yaml.",
    ]);
  }
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  // As with kubectl apply, a component without a namespace gets that of the context.
  const read = componentReader({ flags, terminal }, signal, access.namespace);
  const { components, notes } = await withUsageErrors(read(filename, "-f"));
  await using settings = await openRendering(input, access, signal);
  const { limits, end } = openReading(flags, terminal);
  const deps = { access, limits, settings, now };
  const found = await plan(components, deps, signal).finally(end);
  const document = sortedBy(found, flags.sortBy);
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

function headingOf({ installation, cluster, hub, version, blocked, changes }: PlanItem): string {
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

const shownFields = 3;

function planTable({ items }: Plan, wide: boolean): Table {
  const rows = items.flatMap(({ cluster, changes }) =>
    (changes ?? []).map((change) => ({ cluster, ...change })),
  );
  const clusterOf = clusterNames(rows.map(({ cluster }) => cluster));
  return {
    headers: ["CLUSTER", "ACTION", "KIND", "NAMESPACE", "NAME", "PODS", "FIELDS"],
    mayShorten: ["FIELDS"],
    rows: rows.map(({ cluster, action, object, pods, fields, message }) => {
      const paths = fields.map(({ path }) => path);
      const shown = wide ? paths : paths.slice(0, shownFields);
      const more = paths.length > shown.length ? ` +${paths.length - shown.length}` : "";
      return [
        clusterOf(cluster),
        { text: action, tone: action === "create" ? "good" : toneOf(action) },
        object.kind,
        orNone(object.namespace),
        object.name,
        pods === 0 ? "<none>" : String(pods),
        message ?? orNone(`${shown.join(",")}${more}`),
      ];
    }),
  };
}

function toneOf(action: PlannedChange["action"]): "warning" | "bad" {
  return action === "change" ? "warning" : "bad";
}

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
