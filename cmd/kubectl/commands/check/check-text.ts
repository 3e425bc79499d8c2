import { clusterNames } from "../../output/cluster-name.ts";
import { plainText } from "../../output/plain-text.ts";
import { orNone, type Table } from "../../output/table.ts";
import type { CheckItem, CheckReport } from "./check-item.ts";

const tones = { OK: "good", WARN: "warning", FAIL: "bad" } as const;

/** A row for each check. */
export function checkTable({ items }: CheckReport, wide: boolean): Table {
  const placeOf = places(items);
  return {
    headers: ["STATE", "OF", "CHECK", ...(wide ? ["CODE"] : []), "MESSAGE"],
    wraps: true,
    rows: items.map((item) => [
      item.state === "SKIPPED" ? item.state : { text: item.state, tone: tones[item.state] },
      placeOf(item),
      item.check,
      ...(wide ? [orNone(item.code)] : []),
      item.message,
    ]),
  };
}

/** One line for each thing that is not well; nothing when all is. */
export function shortText({ items }: CheckReport): string {
  const placeOf = places(items);
  return items
    .filter(({ state }) => state === "WARN" || state === "FAIL")
    .map((item) => {
      const code = item.code === null ? "" : `${item.code} `;
      return `${plainText(`${item.state} ${placeOf(item)} ${item.check}: ${code}${item.message}`)}\n`;
    })
    .join("");
}

/** The checks as JUnit's XML: a suite for each place, a failure for what is wrong, an output for a warning. */
export function junitText(report: CheckReport): string {
  const { items, summary } = report;
  const placeOf = places(items);
  const suites = [...Map.groupBy(items, placeOf)].map(([place, all]) => suiteText(place, all));
  const counts = countsText(items.length, summary.errors, summary.skipped);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kubectl knfleet check" ${counts}>\n${suites.join("")}</testsuites>\n`;
}

function suiteText(place: string, items: readonly CheckItem[]): string {
  const count = (state: CheckItem["state"]): number =>
    items.filter((item) => item.state === state).length;
  const counts = countsText(items.length, count("FAIL"), count("SKIPPED"));
  const cases = items.map((item) => caseText(place, item));
  return `  <testsuite name="${xml(place)}" ${counts}>\n${cases.join("")}  </testsuite>\n`;
}

function countsText(tests: number, failures: number, skipped: number): string {
  return `tests="${tests}" failures="${failures}" skipped="${skipped}"`;
}

function caseText(place: string, { check, state, code, message, next }: CheckItem): string {
  const head = `    <testcase classname="${xml(place)}" name="${xml(check)}"`;
  const said = xml(message);
  const more = xml(next.join("\n"));
  const bodies = {
    FAIL: `<failure type="${xml(code ?? "FAIL")}" message="${said}">${more}</failure>`,
    SKIPPED: `<skipped message="${said}"/>`,
    WARN: `<system-out>WARN ${said}</system-out>`,
    OK: "",
  };
  const body = bodies[state];
  return body === "" ? `${head}/>\n` : `${head}>\n      ${body}\n    </testcase>\n`;
}

/** Text as XML holds it: what XML 1.0 does not allow is left out. */
function xml(text: string): string {
  return text
    .split("\n")
    .map((line) => plainText(line))
    .join("\n")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll(/[\ufffe\uffff]/g, "");
}

function places(items: readonly CheckItem[]): (item: CheckItem) => string {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  return ({ subject, cluster }) => subject ?? clusterOf(cluster);
}
