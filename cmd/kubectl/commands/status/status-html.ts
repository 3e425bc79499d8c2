import { timestampOf } from "../../../../api/conditions.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { codedError, withCodes } from "../../output/report.ts";
import type { Cell, Tone } from "../../output/table.ts";
import { writtenPage } from "../../page/page-html.ts";
import { KnownSecrets } from "../gather/known-secrets.ts";
import { Redactor } from "../gather/write-bundle.ts";
import type { PageState } from "../ui/fleet-state.ts";
import { setsTable } from "./status-sets.ts";
import { statusTable } from "./status-text.ts";
import type { FleetStatus } from "./status.ts";

/** What the page says besides the fleet. */
interface Written {
  /** When the bundle was gathered; undefined for a fleet. */
  readonly recordedAt: Date | undefined;
  /** The beginning of commands. */
  readonly knfleet: string;
  /** Documents of single installations, by their paths on the server of `ui`; absent: the file has none. */
  readonly documents?: Readonly<Record<string, unknown>>;
}

/**
 * The fleet as one file: the page of `ui` as it is now, without what looks like a secret. Where no script may run, as in a mail, it is tables. Times are those of
 * the moment at which the fleet was read, which the page names.
 */
export function statusHtml(
  report: FleetStatus,
  { recordedAt, knfleet, documents = {} }: Written,
): string {
  const redactor = new Redactor(new KnownSecrets().finder());
  const state: PageState = {
    revision: 1,
    hubReadAt: report.generatedAt,
    spokesReadAt: null,
    round: null,
    trouble: null,
    recordedAt: recordedAt === undefined ? null : timestampOf(recordedAt),
    knfleet,
  };
  return writtenPage({
    status: redactor.value(withCodes(report)),
    state,
    documents: redactor.value(documents),
    tables: redactor.text(tablesOf(report)),
  });
}

function tablesOf(report: FleetStatus): string {
  const { summary, generatedAt, cliVersion, errors } = report;
  const { headers, rows } = statusTable(report, true, (time) => time ?? "<unknown>");
  const sets = setsTable(report.sets ?? [], true);
  const causes = summary.causes.map(({ reason, code, provider, count }) => [
    String(count),
    code ?? "<none>",
    reason,
    provider ?? "<none>",
  ]);
  const unread = errors
    .map(codedError)
    .map(({ cluster, reason, code, message }) => [
      cluster ?? "<hub>",
      code ?? "<none>",
      reason,
      message,
    ]);
  return `<main><h1>Knative fleet</h1>
<p>Read at <time datetime="${escaped(generatedAt)}">${escaped(generatedAt)}</time> by kubectl knfleet ${escaped(cliVersion)}.</p>
<p>${summary.total} installations: <b class="badge healthy">${summary.healthy} healthy</b>, <b class="badge progress">${summary.inProgress} in progress</b>, <b class="badge warning">${summary.warnings} with warnings</b>, <b class="badge bad">${summary.errors} not healthy</b>. The clusters of ${summary.unread} could not be read.</p>
${tableOf("Installations", headers, rows)}${tableOf("Fleet sets", sets.headers, sets.rows)}${tableOf("Causes", ["COUNT", "CODE", "REASON", "PROVIDER"], causes)}${tableOf("What could not be read", ["CLUSTER", "CODE", "REASON", "MESSAGE"], unread)}</main>
`;
}

function tableOf(
  title: string,
  headers: readonly string[],
  rows: readonly (readonly Cell[])[],
): string {
  if (rows.length === 0) return "";
  const top = headers.map((header) => `<th scope="col">${escaped(header)}</th>`).join("");
  const lines = rows.map((row) => `<tr>${row.map(cellOf).join("")}</tr>\n`).join("");
  return `<div class="wide"><table><caption>${title}</caption>\n<thead><tr>${top}</tr></thead>\n<tbody>\n${lines}</tbody></table></div>\n`;
}

function cellOf(cell: Cell): string {
  if (typeof cell === "string") return `<td>${escaped(cell)}</td>`;
  const tone = cell.tone === undefined ? "" : tones[cell.tone];
  return `<td class="badge ${tone}">${escaped(cell.text)}</td>`;
}

/** The names of tones on the page. */
const tones: Readonly<Record<Tone, string>> = {
  good: "healthy",
  warning: "warning",
  bad: "bad",
};

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return plainText(text).replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
