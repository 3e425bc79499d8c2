import { print, type ActionInput } from "../../action.ts";
import { clientVersion } from "../../client-version.ts";
import { exitCodes, type ExitCode } from "../../exit-codes.ts";
import { sortedBy } from "../../output/sorted.ts";
import { orNone, type Table } from "../../output/table.ts";
import { type Report, reportOf, stampAt } from "../status/report.ts";
import { explain, explainable, type Explanation } from "./explain.ts";
import { explanationText } from "./explanation-text.ts";
import { nearest } from "./nearest.ts";

export type ExplanationReport = Report<"Explanation", { readonly total: number }, Explanation>;

/** `kubectl knfleet explain`: asks no server and reads no file. */
export async function runExplain({
  args,
  flags,
  terminal,
}: ActionInput<unknown>): Promise<ExitCode> {
  const words = args.length === 0 ? explainable() : args;
  const report = sortedBy(explanationReport(words, terminal.now()), flags.sortBy);
  const asText = args.length > 0 && flags.output === "table";
  await print(
    {
      document: report,
      heading: asText ? report.items.map(explanationText).join("\n") : "",
      table: () => (asText ? { headers: [], rows: [] } : explanationTable(report.items)),
      names: report.items.map(({ name }) => name),
      notes: report.errors.map(({ message }) => `error: ${message}`),
    },
    flags,
    terminal,
  );
  return report.errors.length > 0 ? exitCodes.unhealthy : exitCodes.fine;
}

function explanationReport(words: readonly string[], now: Date): ExplanationReport {
  const items = words.flatMap(explain);
  const unknown = words.filter((word) => explain(word).length === 0);
  return reportOf("Explanation", stampAt(now, clientVersion), {
    complete: true,
    summary: { total: items.length },
    items,
    errors: unknown.map((word) => ({
      reason: "NotFound",
      code: null,
      message: unknownText(word),
      cluster: null,
    })),
  });
}

function unknownText(word: string): string {
  const similar = nearest(word, explainable());
  const hint = similar === undefined ? "" : `; did you mean ${similar}?`;
  return `Nobody here says "${word}"${hint}`;
}

function explanationTable(items: readonly Explanation[]): Table {
  return {
    headers: ["NAME", "TYPE", "CONDITION", "MEANING"],
    mayShorten: ["MEANING", "CONDITION"],
    rows: items.map(({ name, type, condition, meaning }) => [
      name,
      type,
      orNone(condition),
      meaning,
    ]),
  };
}
