import type { ClusterProfileRef } from "../../../api/component.ts";
import type { TimeText } from "./duration.ts";
import { clusterNames } from "./names.ts";
import { type Cell, orNone, type Table, type Tone } from "./table.ts";

/** The content of a cell. Null, undefined and an empty text are shown as `<none>`, a time as an age. */
type Value = Cell | number | null | undefined | { readonly time: string | null | undefined };

/** One column of a table. */
interface Column<Item> {
  readonly of: (item: Item) => Value;
  /** Only in wide output. */
  readonly isWide?: true;
  /** A narrow terminal may cut the texts. */
  readonly mayShorten?: true;
  /** The cluster of an item, in place of `of`. A text is shown as it is. */
  readonly cluster?: (item: Item) => ClusterProfileRef | string | null;
}

/** The columns of a table by header, in order. */
export type Columns<Item> = Readonly<Record<string, Column<Item> | Column<Item>["of"]>>;

/** A column of wide output alone. */
export function wide<Item>(of: Column<Item>["of"]): Column<Item> {
  return { of, isWide: true };
}

/** A column with texts that a narrow terminal may cut. */
export function shortened<Item>(of: Column<Item>["of"]): Column<Item> {
  return { of, mayShorten: true };
}

/** A column with clusters: the name of the ClusterProfile, with its namespace where two have the same name; null is the hub. */
export function onCluster<Item>(cluster: NonNullable<Column<Item>["cluster"]>): Column<Item> {
  return { of: () => "", cluster };
}

/** A time in a cell. */
export function age(time: string | null | undefined): Value {
  return { time };
}

/** A text with a meaning. */
export function toned(tone: Tone, text: string): Cell {
  return { text, tone };
}

/** The table of items. */
export function tableOf<Item>(
  items: readonly Item[],
  columns: Columns<Item>,
  { isWide, times }: { readonly isWide: boolean; readonly times: TimeText },
): Table {
  const shown = Object.entries(columns)
    .map(([header, column]) => ({
      header,
      ...(typeof column === "function" ? { of: column } : column),
    }))
    .filter((column) => isWide || column.isWide !== true);
  const cells = shown.map(({ of, cluster }) => {
    if (cluster === undefined) return (item: Item) => cellOf(of(item), times);
    const found = items.map(cluster);
    const nameOf = clusterNames(found.filter((one) => typeof one !== "string"));
    return (item: Item) => {
      const one = cluster(item);
      return typeof one === "string" ? one : nameOf(one);
    };
  });
  const mayShorten = shown.flatMap((column) => (column.mayShorten === true ? column.header : []));
  return {
    headers: shown.map(({ header }) => header),
    ...(mayShorten.length === 0 ? {} : { mayShorten }),
    rows: items.map((item) => cells.map((cell) => cell(item))),
  };
}

function cellOf(value: Value, times: TimeText): Cell {
  if (typeof value === "number") return String(value);
  if (value === null || value === undefined || typeof value === "string") return orNone(value);
  return "time" in value ? times(value.time) : value;
}
