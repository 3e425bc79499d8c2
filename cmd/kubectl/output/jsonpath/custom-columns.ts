import { UsageError } from "../../usage-error.ts";
import { orNone, type Table } from "../table.ts";
import { textOf, valuesAt } from "./evaluate-jsonpath.ts";
import { relaxedPath } from "./relaxed-path.ts";

/** The table of `-o custom-columns=HEADER:.path,…`, one row an item. Throws UsageError. */
export function customColumns(spec: string, items: readonly unknown[]): Table {
  const columns = spec.split(",").map((column) => {
    const at = column.indexOf(":");
    const header = column.slice(0, at);
    if (at > 0 && !/\s/.test(header)) return { header, path: relaxedPath(column.slice(at + 1)) };
    throw new UsageError(`Invalid column "${column}" of custom-columns: want HEADER:.path`);
  });
  return {
    headers: columns.map(({ header }) => header),
    rows: items.map((item) =>
      columns.map(({ path }) => orNone(valuesAt(item, path).map(textOf).join(","))),
    ),
  };
}
