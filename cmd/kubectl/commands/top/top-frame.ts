import { plainLines, plainText } from "../../../../api/foreign-text.ts";
import type { FleetState } from "../../fleet/fleet-feed.ts";
import type { StatusItem } from "../../fleet/status-item.ts";
import { statusTable } from "../../fleet/status-text.ts";
import { humanDuration, timeText } from "../../output/duration.ts";
import { shortNameOf } from "../../output/names.ts";
import { countsLine, nextStep } from "../../output/notes.ts";
import { type Commands, stepLine, withHub } from "../../output/steps.ts";
import type { Table } from "../../output/table.ts";
import { padText, textWidth } from "../../output/text-width.ts";
import { providerFileHint } from "../../spokes/spoke-reading.ts";
import { cutLine, fitColumns, type Line, type Segment, wrapColumns } from "./screen-text.ts";
import { setHeight, setLines } from "./set-lines.ts";
import { keyOf, placeOf, rowsOf, type View } from "./top-view.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A page about one installation. */
export interface Pane {
  /** The command that prints the same. */
  readonly title: string;
  readonly text: string;
  readonly isReading: boolean;
}

/** All that a screen shows. */
export interface Shown {
  readonly fleet: FleetState;
  readonly view: View;
  /** Undefined: the page needs none. */
  readonly pane: Pane | undefined;
  /** What was asked for, and where. */
  readonly scope: string;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  /** `kubectl knfleet` with the flags that name the hub. */
  readonly commands: Commands;
  /** The fleet is one that was recorded. */
  readonly recordedAt: Date | undefined;
  readonly now: Date;
  readonly absoluteTime: boolean;
  readonly ascii: boolean;
}

const help = `Keys

  up, down, k, j       one row up or down
  page up, page down   one screen
  g, G                 first and last row
  Enter                conditions, Deployments, anchor and Warning events of the selected installation
  d                    the whole path to it, hop by hop, and the root cause
  e, l                 its Events; what the controller and its Deployments log
  Escape               back to the table; in the table: without filter
  /                    filter: rows that have this text in any column or in their message
  s                    sort: worst first, by name, by cluster, newest change first
  r                    read hub and clusters now
  Ctrl-L, Ctrl-Z       draw anew; stop until fg
  q, Ctrl-C            quit

HUB is what the conditions on the hub say, LIVE what the cluster itself says. Nothing is changed by any key.`;

/** The lines of a page and how many of them fit. */
interface Page {
  readonly lines: readonly string[];
  readonly height: number;
}

/** The page that is open in place of the table. */
export function pageOf({ view, pane }: Shown, { columns, rows }: Size): Page {
  const text = view.page === "help" ? help : (pane?.text ?? "");
  const safe = text
    .split("\n")
    .map((line) => (/^ */.exec(line)?.[0] ?? "") + plainText(line))
    .join("\n");
  return { lines: wrapColumns(safe, columns), height: Math.max(1, rows - 3) };
}

/** Rows of the table that fit. */
export function tableHeight({ report }: Pick<FleetState, "report">, { rows }: Size): number {
  return Math.max(1, rows - 4 - setHeight(report, rows) - detailHeight(rows));
}

function detailHeight(rows: number): number {
  if (rows >= 22) return 5;
  if (rows >= 16) return 4;
  return rows >= 10 ? 2 : 0;
}

/** The screen: as many lines as there are rows, none longer than the screen is wide. */
export function frame(shown: Shown, size: Size): readonly Line[] {
  const { view, ascii } = shown;
  const lines = view.page === "list" ? listLines(shown, size) : pageLines(shown, size);
  const end = ascii ? "..." : "…";
  return lines.slice(0, size.rows).map((line) => cutLine(line.map(clean), size.columns, end));
}

/** Nothing that a terminal obeys. The screen is drawn past what cleans all other output. Security: T-86. */
function clean(segment: Segment): Segment {
  return { ...segment, text: plainLines(segment.text) };
}

function pageLines(shown: Shown, size: Size): readonly Line[] {
  const { view, pane } = shown;
  const { lines, height } = pageOf(shown, size);
  const from = Math.min(view.scroll, Math.max(0, lines.length - height));
  const more = lines.length - from - height;
  const place = `${from + 1}-${Math.min(lines.length, from + height)} of ${lines.length} lines`;
  const reading = pane?.isReading === true && view.page !== "help" ? "reading " : "";
  return [
    [{ text: view.page === "help" ? "kubectl knfleet top" : (pane?.title ?? ""), marked: true }],
    ...filled(
      lines.slice(from, from + height).map((text) => [{ text }]),
      height,
    ),
    [{ text: `${reading}${more > 0 || from > 0 ? place : ""}`, tone: "warning" }],
    [
      {
        text: "q quit  Esc back  j/k scroll  Enter detail  d diagnose  e events  l logs  r refresh",
      },
    ],
  ];
}

function listLines(shown: Shown, size: Size): readonly Line[] {
  const { fleet, view } = shown;
  const items = rowsOf(fleet.report.items, view);
  const place = placeOf(view, items.map(keyOf));
  const height = tableHeight(fleet, size);
  const from = Math.max(0, Math.min(place - Math.floor(height / 2), items.length - height));
  const { header, rows } = fitColumns(
    tableOf(shown, items, size.columns),
    size.columns - 2,
    shown.ascii ? "..." : "…",
  );
  const visible = rows.slice(from, from + height).map((row, at): Line => {
    const isSelected = from + at === place;
    if (!isSelected) return [{ text: "  " }, ...row];
    return [{ text: "> ", marked: true }, ...row.map((segment) => ({ ...segment, marked: true }))];
  });
  return [
    ...headLines(shown, size, items.length),
    ...setLines(fleet.report, size.rows),
    [{ text: "  " }, ...header],
    ...filled(items.length === 0 ? nothingLines(shown) : visible, height),
    ...selectedLines(shown, items[place], size),
    footLine(shown, items.length),
  ];
}

/** The table of `status`; where all of it cannot be shown, kinds have their short names. */
function tableOf(
  { fleet, now, absoluteTime }: Shown,
  items: readonly StatusItem[],
  columns: number,
): Table {
  const table = statusTable(items, { isWide: false, times: timeText(absoluteTime, now) });
  const at = table.headers.indexOf("KIND");
  const hub = table.headers.indexOf("LIVE");
  const isFirstRound = fleet.round !== null && fleet.spokesReadAt === null;
  const rows = table.rows.map((row, index) =>
    row.map((cell, column) => {
      // The cluster is being read for the first time.
      const isAwaited = isFirstRound && items[index]?.live.state === "Skipped";
      if (column === hub && isAwaited) return "...";
      if (column !== at || columns >= wideFrom) return cell;
      return cell === "KnativeServing" ? "ks" : "ke";
    }),
  );
  return { ...table, rows };
}

const wideFrom = 140;

function nothingLines({ view, fleet, namespace, commands }: Shown): readonly Line[] {
  const texts =
    fleet.report.items.length > 0
      ? [`Nothing matches the filter "${view.filter}".`]
      : [
          "No Knative installations found.",
          ...(namespace === undefined ? [] : [stepLine(`${commands.knfleet} top -A`)]),
        ];
  return texts.map((text) => [{ text: `  ${plainText(text)}` }]);
}

function headLines(shown: Shown, { columns }: Size, count: number): readonly Line[] {
  const { fleet, scope } = shown;
  const left = plainText(`knfleet top: ${scope}`);
  const right = ageText(shown);
  const space = columns - textWidth(left) - textWidth(right);
  const title = space > 1 ? padText(left, columns - textWidth(right)) : `${left}  `;
  const counts = fleet.report.items.length === 0 ? "" : countsLine(fleet.report.summary);
  const missing = fleet.report.errors.filter(({ reason }) => reason === "NotFound");
  const found = plainText([counts, ...missing.map(({ message }) => message)].join(" "));
  const wrong = wrongOf(fleet);
  const { controller } = fleet.report;
  const note = controller?.works === null ? ` ${plainText(controller.message ?? "")}` : "";
  const second: Line = wrong === null ? [{ text: found + note }] : [{ text: wrong, tone: "bad" }];
  const filtered = count === fleet.report.items.length ? "" : `${count} shown. `;
  return [
    [
      { text: title, marked: true },
      { text: right, marked: true },
    ],
    [{ text: filtered }, ...second],
  ];
}

/** Why the rows below may be out of date; null: they are not. */
function wrongOf({ trouble, report: { controller } }: FleetState): string | null {
  if (trouble !== null) return plainText(`HUB NOT READ: ${trouble}`);
  const said = controller?.works === false ? controller.message : null;
  return said === null ? null : plainText(said);
}

/** Age of the data on the screen. */
function ageText({ fleet, recordedAt, now }: Shown): string {
  if (recordedAt !== undefined) return `recorded ${clock(recordedAt)}`;
  const { round, spokesReadAt, hubReadAt, trouble } = fleet;
  const age = (time: Date): string => humanDuration(Math.max(0, now.getTime() - time.getTime()));
  const hub = trouble === null ? "" : `hub ${age(hubReadAt)} old  `;
  const done = spokesReadAt === null ? "" : `clusters ${age(spokesReadAt)} ago  `;
  const reading =
    round === null || round.done === round.total ? "" : `reading ${round.done}/${round.total}  `;
  return `${hub}${reading === "" ? done : reading}${clock(now)}`;
}

function clock(time: Date): string {
  return time.toISOString().replace("T", " ").slice(0, 19).concat("Z");
}

/** `ks/NAME -n NAMESPACE`, as commands take it. */
export function argsOf(item: StatusItem): readonly string[] {
  return [shortNameOf(item), "-n", item.namespace];
}

/** Details of the selected row, and the next step. */
function selectedLines(
  shown: Shown,
  item: StatusItem | undefined,
  { columns, rows }: Size,
): readonly Line[] {
  const height = detailHeight(rows);
  if (height === 0) return [];
  const rule: Line = [{ text: (shown.ascii ? "-" : "─").repeat(columns) }];
  if (item === undefined) return filled([rule], height);
  const { kind, name, namespace, cluster, version, reason, message, severity } = item;
  const where = cluster === null ? "the hub itself" : `${cluster.namespace}/${cluster.name}`;
  const title = `${kind} ${namespace}/${name} on ${where}${version === null ? "" : `, ${version}`}`;
  const said = [reason, message].filter((text) => text !== null).join(": ");
  const hint = item.live.reason === "NoProviderFile" ? stepLine(providerFileHint) : "";
  const step = severity === "ok" ? hint : stepLine(withHub(nextStep(item), shown.commands));
  const tone = severity === "error" ? "bad" : "warning";
  const why = wrapColumns(plainText(said), columns).slice(0, height - 3);
  // The rest of a long message is on the page of the installation.
  const lines: readonly Line[] = [
    [{ text: plainText(title) }],
    ...(height < 4 ? [said] : why).map((text): Line => [
      { text: plainText(text), ...(severity === "ok" ? {} : { tone }) },
    ]),
    [{ text: plainText(step) }],
  ];
  return filled([rule, ...(height < 4 ? lines.slice(1) : lines)].slice(0, height), height);
}

function footLine({ view }: Shown, count: number): Line {
  if (view.isTyping)
    return [
      { text: `filter: ${plainText(view.filter)}_`, marked: true },
      { text: `  ${count} rows  Enter keeps, Esc drops it` },
    ];
  const filter = view.filter === "" ? "/ filter" : `/ filter: ${plainText(view.filter)}`;
  const order = view.order === "worst" ? "s sort" : `s sort: ${view.order}`;
  return [
    {
      text: `q quit  ? help  Enter detail  d diagnose  ${filter}  ${order}  e events  l logs  r refresh`,
    },
  ];
}

function filled(lines: readonly Line[], height: number): readonly Line[] {
  return [...lines, ...Array.from({ length: Math.max(0, height - lines.length) }, (): Line => [])];
}
