import { plainText } from "../../../../api/foreign-text.ts";
import type { RolloutItem, StageItem } from "../../hub/rollout-item.ts";
import type { TimeText } from "../../output/duration.ts";
import { type Cell, orNone, renderTable, type Table, type Tone } from "../../output/table.ts";
import { wrapText } from "../../output/text-width.ts";

/** Times, colours and width of a text for people. */
export interface Style {
  readonly times: TimeText;
  readonly paint: (text: string, tone: Tone) => string;
  /** Columns of the terminal; undefined: lines are not wrapped, and there are no bars. */
  readonly width: number | undefined;
}

const tones: Readonly<Record<RolloutItem["outcome"], Tone>> = {
  complete: "good",
  failed: "bad",
  incomplete: "warning",
};

/** The lines above the stages: set, phase, revision, what the rollout waits for, and counts of clusters. */
export function headingText(item: RolloutItem, { times, paint, width }: Style): string {
  const { kind, namespace, name, phase, outcome, waitingFor } = item;
  const stage = item.stage === null ? "" : `, stage ${plainText(item.stage)}`;
  const phaseText = paint(plainText(phase ?? "Unknown"), tones[outcome]);
  const waits = waitsLine(item);
  const lines = [
    `${plainText(`${kind} ${namespace}/${name}`)}: ${phaseText}${stage}`,
    ...wrapText(plainText(revisionLine(item, times)), width, 2),
    ...(waitingFor === null ? [] : wrapText(plainText(`Waiting: ${waitingFor}`), width, 2)),
    ...(item.clusters === null ? [] : wrapText(countsLine(item.clusters), width, 2)),
    ...(waits === undefined ? [] : wrapText(waits, width, 2)),
  ];
  return `${lines.join("\n")}\n\n`;
}

function revisionLine(item: RolloutItem, times: TimeText): string {
  const { updateRevision, currentRevision, failedRevision, startedAt, version } = item;
  if (updateRevision === null) return "No revision has been rolled out yet";
  const of = version === null ? "" : ` (${version})`;
  const since = startedAt === null ? "" : `, begun ${times(startedAt)}`;
  const isSame = currentRevision === updateRevision;
  const before = isSame ? "" : `, before it ${currentRevision ?? "none was completed"}`;
  const failed = failedRevision === null ? "" : `; ${failedRevision} was given up`;
  return `Revision ${updateRevision}${of}${since}${before}${failed}`;
}

/** `1200 clusters: 127 done, 3 updating`; states without clusters are left out. */
function countsLine({ selected = 0, ...counts }: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`);
  const all = `${selected} ${selected === 1 ? "cluster" : "clusters"}`;
  return plainText(parts.length === 0 ? all : `${all}: ${parts.join(", ")}`);
}

/** `2 clusters wait for stage early, 6 for stage rest`: those that keep what they have. Undefined when no stage has yet to begin. */
function waitsLine({ stages, phase, outcome }: RolloutItem): string | undefined {
  if (outcome === "complete" || phase === "RollingBack" || phase === "RolledBack") return undefined;
  const waiting = stages.filter(({ state, clusters }) => state === "Waiting" && clusters > 0);
  const [first, ...others] = waiting;
  if (first === undefined) return undefined;
  const many = first.clusters === 1 ? "1 cluster waits" : `${first.clusters} clusters wait`;
  const more = others.map(({ name, clusters }) => `, ${clusters} for stage ${name}`);
  return plainText(`${many} for stage ${first.name}${more.join("")}`);
}

const stageTones: Readonly<Record<StageItem["state"], Tone | undefined>> = {
  Waiting: undefined,
  Rolling: "warning",
  Soaking: "warning",
  AwaitingApproval: "warning",
  Passed: "good",
  Empty: undefined,
  Halted: "bad",
};

/** The table of the stages; in a terminal, each has a bar. */
export function stagesTable({ stages }: RolloutItem, wide: boolean, style: Style): Table {
  const { width, times } = style;
  const showsUnreachable =
    wide || width === undefined || stages.some(({ unreachable }) => unreachable > 0);
  const hidden = [
    ...(showsUnreachable ? [] : ["UNREACHABLE"]),
    ...(stages.some(({ verified }) => verified !== undefined) ? [] : ["VERIFIED"]),
    ...(wide ? [] : wideHeaders),
  ];
  const columns = columnsOf(times).filter(({ header }) => !hidden.includes(header));
  const table = {
    headers: columns.map(({ header }) => header),
    mayShorten: ["STAGE"],
    rows: stages.map((stage) => columns.map(({ cell }) => cell(stage))),
  };
  return width === undefined ? table : withBars(table, stages, width);
}

interface Column {
  readonly header: string;
  readonly cell: (stage: StageItem) => Cell;
}

const wideHeaders = ["BEGUN", "DONE AT", "APPROVED BY"];

function columnsOf(times: TimeText): readonly Column[] {
  const timeOrNone = (time: string | null): string => (time === null ? "<none>" : times(time));
  return [
    { header: "STAGE", cell: ({ name }) => name },
    { header: "STATE", cell: ({ state }) => cellOf(state, stageTones[state]) },
    { header: "DONE", cell: ({ done, clusters }) => `${done}/${clusters}` },
    {
      header: "VERIFIED",
      cell: ({ verified, clusters }) =>
        verified === undefined ? "<none>" : `${verified} of ${clusters}`,
    },
    { header: "UPDATING", cell: ({ updating }) => String(updating) },
    { header: "FAILED", cell: ({ failed }) => countCell(failed, "bad") },
    { header: "UNREACHABLE", cell: ({ unreachable }) => countCell(unreachable, "warning") },
    { header: "BEGUN", cell: ({ startedAt }) => timeOrNone(startedAt) },
    { header: "DONE AT", cell: ({ doneAt }) => timeOrNone(doneAt) },
    { header: "APPROVED BY", cell: ({ approvedBy }) => orNone(approvedBy) },
  ];
}

const barAt = 2;
const bars = { least: 4, most: 24 } as const;

/** Adds a bar to each stage, which fills the free width of the terminal. */
function withBars(table: Table, stages: readonly StageItem[], width: number): Table {
  const text = renderTable(table, { headers: true, paint: (cell) => cell });
  const used = Math.max(...text.split("\n").map((line) => line.length));
  const length = Math.max(bars.least, Math.min(bars.most, width - used - "[]   ".length));
  const headers = table.headers.toSpliced(barAt, 0, "PROGRESS");
  const rows = table.rows.map((row, at) => {
    const stage = stages[at];
    if (stage === undefined) return row;
    return row.toSpliced(barAt, 0, cellOf(barOf(stage, length), stageTones[stage.state]));
  });
  return { ...table, headers, rows };
}

function cellOf(text: string, tone: Tone | undefined): Cell {
  return tone === undefined ? text : { text, tone };
}

function countCell(count: number, tone: Tone): Cell {
  return cellOf(String(count), count > 0 ? tone : undefined);
}

type BarCounts = Pick<StageItem, "clusters" | "done" | "updating" | "failed">;

/** A bar with `#` for done clusters, `>` for updating, `!` for failed and `.` for other ones. Each of the first three has at least one character unless it is 0. */
export function barOf({ clusters, done, updating, failed }: BarCounts, length: number): string {
  const lengthOf = (count: number): number =>
    count <= 0 || clusters <= 0 ? 0 : Math.max(1, Math.floor((count / clusters) * length));
  const bad = Math.min(lengthOf(failed), length);
  const moving = Math.min(lengthOf(updating), length - bad);
  const good = Math.min(lengthOf(done), length - bad - moving);
  const bar = "#".repeat(good) + ">".repeat(moving) + "!".repeat(bad);
  return `[${bar.padEnd(length, ".")}]`;
}

/** Conditions that repeat what other lines show. */
const redundantConditions = ["Progressing", "Complete", "Ready", "Healthy"];

/** The lines below the stages: clusters that need attention, and conditions that are not True. */
export function footerText(item: RolloutItem, wide: boolean, { width }: Style): string {
  const clusters = item.notable.map(({ cluster, state, reason, message }) =>
    belowLine([cluster, state, reason === state ? "" : reason], message),
  );
  const conditions = item.conditions
    .filter(
      ({ type, status }) => wide || (status !== "True" && !redundantConditions.includes(type)),
    )
    .map(({ type, status, reason, message }) => belowLine([`${type}=${status}`, reason], message));
  const lines = [
    ...(clusters.length === 0 ? [] : ["", "Clusters that are not well:", ...clusters]),
    ...(conditions.length === 0 ? [] : ["", "Conditions:", ...conditions]),
  ];
  return lines
    .flatMap((line) => wrapText(line, width, 4))
    .map((line) => `${line}\n`)
    .join("");
}

function belowLine(words: readonly string[], message: string): string {
  const title = words.filter((word) => word !== "").join("   ");
  return `  ${plainText(message === "" ? title : `${title}: ${message}`)}`;
}

/** The rollout in one line, for `--watch` outside a terminal. */
export function rolloutLine(item: RolloutItem): string {
  const { phase, stage, clusters, waitingFor } = item;
  const stageText = stage === null ? "" : `, stage ${stage}`;
  const counts = clusters === null ? "" : `; ${countsLine(clusters)}`;
  const waits = waitingFor === null ? "" : `; ${waitingFor}`;
  return plainText(`${phase ?? "Unknown"}${stageText}${counts}${waits}`);
}
