import { plainText } from "../../../../api/foreign-text.ts";
import { codedError } from "../../output/report.ts";
import type { Cell } from "../../output/table.ts";
import { setsTable } from "./status-sets.ts";
import { statusTable } from "./status-text.ts";
import type { FleetStatus } from "./status.ts";

/**
 * The fleet as one page: no script, nothing that a browser would fetch, everything of clusters escaped. Times are those of the moment at
 * which the fleet was read, which the page names.
 */
export function statusHtml(report: FleetStatus): string {
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
  return `${head}<body>
<h1>Knative fleet</h1>
<p>Read at <time datetime="${escaped(generatedAt)}">${escaped(generatedAt)}</time> by kubectl knfleet ${escaped(cliVersion)}.</p>
<p>${summary.total} installations: <b class="good">${summary.healthy} healthy</b>, <b class="warning">${summary.warnings} in progress</b>, <b class="bad">${summary.errors} not healthy</b>. The clusters of ${summary.unread} could not be read.</p>
${tableOf("Installations", headers, rows)}${tableOf("Fleet sets", sets.headers, sets.rows)}${tableOf("Causes", ["COUNT", "CODE", "REASON", "PROVIDER"], causes)}${tableOf("What could not be read", ["CLUSTER", "CODE", "REASON", "MESSAGE"], unread)}</body>
</html>
`;
}

// People open this page from a mail: the policy forbids it everything, whatever its text is.
const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Knative fleet</title>
<style>
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --warning: #9a6700; --bad: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --warning: #d29922; --bad: #f85149; } }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
caption { font-weight: bold; text-align: left; padding: 1rem 0 .3rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td:last-child { white-space: normal; min-width: 20rem; }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); }
</style>
</head>
`;

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
  return `<td class="${cell.tone}">${escaped(cell.text)}</td>`;
}

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
