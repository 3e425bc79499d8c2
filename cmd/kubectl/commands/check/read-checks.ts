import { plainText } from "../../../../api/foreign-text.ts";
import type { ActionInput } from "../../action.ts";
import { openRendering } from "../../compare/open-rendering.ts";
import type { CheckFlags, CheckItem, CheckReport } from "../../findings/checks/check-item.ts";
import { checkExitCode, checkFleet } from "../../findings/checks/check.ts";
import { expiryWindow } from "../../findings/checks/expiry.ts";
import { prepareWalk } from "../../findings/prepare-walk.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { hubSource } from "../../hub/open-hub.ts";
import type { Report } from "../../main/report.ts";
import { widthOf } from "../../output/characters.ts";
import { clusterNames } from "../../output/names.ts";
import { commandsOf, stepLine, withHubSteps } from "../../output/steps.ts";
import { orNone, type Table } from "../../output/table.ts";
import { wrappedStep } from "../../output/text-width.ts";
import { componentReader } from "../../selection/component-files.ts";
import { withUsageErrors } from "../../selection/input-files.ts";

/** Checks the fleet, or shows what `gather` has found when it wrote a bundle. Throws UsageError. */
export async function readChecks(fleet: Fleet, options: CheckFlags): Promise<Report<CheckItem>> {
  const { flags } = fleet;
  const input = fleet.asInput(options);
  const report =
    flags.recorded === undefined
      ? await checkLive(fleet, input)
      : await (await import("../../bundle/recorded-check.ts")).recordedCheck(fleet, options);
  const { summary, errors, complete, cliVersion } = report;
  const isText = flags.output === "short" || flags.output === "junit";
  const width = widthOf(input.terminal.stderr);
  return {
    items: withHubSteps(report.items, commandsOf({ ...flags, bundle: undefined })),
    summary,
    errors,
    complete,
    cliVersion,
    exitCode: checkExitCode(report, options.failOn ?? "error"),
    tables: ({ isWide }, items) => [checkTable(items, isWide)],
    formats: { short: shortText, junit: (items) => junitText(items, summary) },
    notes: (items) => (isText ? [] : checkNotes(items, summary, width)),
  };
}

async function checkLive(fleet: Fleet, input: ActionInput<CheckFlags>): Promise<CheckReport> {
  const { flags, env, signal } = fleet;
  const { filename, warnWithin } = input.options;
  const window = expiryWindow(warnWithin, fleet.now().getTime());
  const access = await fleet.access();
  const documents =
    filename.length === 0 ? undefined : await readComponents(input, access.namespace, signal);
  await using settings =
    documents === undefined ? undefined : await openRendering(input, access, signal);
  await using files = new AsyncDisposableStack();
  const vantage = { hub: access.hub, source: hubSource(flags, env), files };
  const context = await prepareWalk(input, vantage);
  const deps = { context, access, limits: fleet.limits(), window, settings };
  return await checkFleet({ documents, flags }, deps, signal);
}

async function readComponents(
  input: ActionInput<CheckFlags>,
  namespace: string,
  signal: AbortSignal,
) {
  const read = componentReader(input, signal, namespace);
  return (await withUsageErrors(read(input.options.filename, "-f"))).components;
}

const shownSteps = 5;

function checkNotes(
  items: readonly CheckItem[],
  summary: CheckReport["summary"],
  width: number | undefined,
): readonly string[] {
  const { ok, warnings, errors, skipped } = summary;
  const wrong = [
    ...items.filter(({ state }) => state === "FAIL"),
    ...items.filter(({ state }) => state === "WARN"),
  ].filter(({ next }) => next.length > 0);
  const all = wrong.map(({ check: id, next }) =>
    next.slice(0, 2).map((step) => stepLine(step, id)),
  );
  const steps = [...new Map(all.map((lines) => [lines.join("\n"), lines])).values()]
    .slice(0, shownSteps)
    .flat();
  return [
    `${ok} OK, ${warnings} WARN, ${errors} FAIL, ${skipped} SKIPPED. Nothing was changed.`,
    ...steps.flatMap((line) => wrappedStep(line, width)),
  ];
}

const tones = { OK: "good", WARN: "warning", FAIL: "bad" } as const;

/** A row for each check. */
function checkTable(items: readonly CheckItem[], wide: boolean): Table {
  const placeOf = placeNames(items);
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

/** One line for each warning and error; empty without any. */
function shortText(items: readonly CheckItem[]): string {
  const placeOf = placeNames(items);
  return items
    .filter(({ state }) => state === "WARN" || state === "FAIL")
    .map((item) => {
      const code = item.code === null ? "" : `${item.code} `;
      return `${plainText(`${item.state} ${placeOf(item)} ${item.check}: ${code}${item.message}`)}\n`;
    })
    .join("");
}

/** The checks as JUnit XML: a suite for each cluster or component, a failure for an error, an output for a warning. */
function junitText(items: readonly CheckItem[], summary: CheckReport["summary"]): string {
  const placeOf = placeNames(items);
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

/** A text in XML, without the characters that XML 1.0 forbids. */
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

function placeNames(items: readonly CheckItem[]): (item: CheckItem) => string {
  const clusterOf = clusterNames(items.map(({ cluster }) => cluster));
  return ({ subject, cluster }) => subject ?? clusterOf(cluster);
}
