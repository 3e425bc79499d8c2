import type { ClusterProfileRef } from "../../../../api/component.ts";
import type { PlanItem, PlannedChange } from "../../compare/plan-item.ts";
import { clusterNames } from "../../output/names.ts";
import { orNone, type Table } from "../../output/table.ts";

const shownFields = 3;
const fewestOfFold = 3;

type Row = PlannedChange & { readonly cluster: ClusterProfileRef | null };

/**
 * The table of `plan -f`: a row for each object that would change. A version is a label of every object: those that get the same labels and nothing else
 * are one row, unless the table is wide.
 */
export function planTable(items: readonly PlanItem[], wide: boolean): Table {
  const rows = items.flatMap(({ cluster, changes }) =>
    (changes ?? []).map((change): Row => ({ cluster, ...change })),
  );
  const clusterOf = clusterNames(rows.map(({ cluster }) => cluster));
  const groups = [...Map.groupBy(rows, (row) => (wide ? row : foldOf(row))).values()];
  return {
    headers: ["CLUSTER", "ACTION", "KIND", "NAMESPACE", "NAME", "PODS", "FIELDS"],
    mayShorten: ["FIELDS"],
    rows: groups.flatMap((group) => {
      const folds = group.length < fewestOfFold ? group.map((one) => [one]) : [group];
      return folds.map((fold) => cellsOf(fold, { wide, clusterOf }));
    }),
  };
}

/** Equal for rows that may be one. */
function foldOf(row: Row): unknown {
  const { cluster, action, fields, message, pods } = row;
  const paths = fields.map(({ path }) => path);
  const isFoldable =
    action === "change" &&
    message === null &&
    pods === 0 &&
    paths.every((path) => path.startsWith(".metadata.labels"));
  return isFoldable ? JSON.stringify([cluster, paths]) : row;
}

function cellsOf(
  fold: readonly Row[],
  {
    wide,
    clusterOf,
  }: { readonly wide: boolean; readonly clusterOf: ReturnType<typeof clusterNames> },
): Table["rows"][number] {
  const [first] = fold;
  if (first === undefined) return [];
  const { cluster, action, object, pods, fields, message } = first;
  const paths = fields.map(({ path }) => path);
  const shown = wide ? paths : paths.slice(0, shownFields);
  const more = paths.length > shown.length ? ` +${paths.length - shown.length}` : "";
  return [
    clusterOf(cluster),
    { text: action, tone: action === "create" ? "good" : toneOf(action) },
    ...(fold.length > 1
      ? [`${fold.length} objects`, "<none>", "<many>"]
      : [object.kind, orNone(object.namespace), object.name]),
    pods === 0 ? "<none>" : String(pods),
    message ?? orNone(`${shown.join(",")}${more}`),
  ];
}

function toneOf(action: PlannedChange["action"]): "warning" | "bad" {
  return action === "change" ? "warning" : "bad";
}
