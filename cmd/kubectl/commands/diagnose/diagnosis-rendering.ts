import type { Rendering } from "../../action.ts";
import { commandsOf } from "../../commands.ts";
import type { Flags } from "../../flags.ts";
import { painter, wantsColour } from "../../output/colour.ts";
import type { Terminal } from "../../output/terminal.ts";
import { widthOf } from "../../output/wrapped.ts";
import { diagnosisNotes, diagnosisTable, diagnosisText } from "./diagnosis-text.ts";
import type { DiagnosisReport } from "./diagnosis.ts";

interface Looking {
  readonly flags: Flags;
  readonly terminal: Pick<Terminal, "env" | "stdout">;
}

/** How walks look: one as a list of its steps, several as a table. */
export function diagnosisRendering(
  report: DiagnosisReport,
  { flags, terminal: { env, stdout } }: Looking,
): Rendering {
  const { items } = report;
  const [first, ...others] = items;
  const paint = painter(wantsColour(flags.color, env, stdout.isTTY === true));
  const only = others.length === 0 ? first : undefined;
  return {
    document: report,
    ...(only === undefined
      ? {}
      : {
          heading: diagnosisText(only, paint, {
            wide: flags.output === "wide",
            columns: widthOf(stdout),
          }),
        }),
    table: () => (only === undefined ? diagnosisTable(report) : { headers: [], rows: [] }),
    names: items.map(({ target }) => nameOf(target)),
    notes: diagnosisNotes(report, commandsOf(flags)),
  };
}

/** As `-o name` of kubectl writes it and this command reads it. */
function nameOf({ kind, name }: DiagnosisReport["items"][number]["target"]): string {
  const group = kind === "ClusterProfile" ? "multicluster.x-k8s.io" : "operator.knative.dev";
  return `${kind.toLowerCase()}.${group}/${name}`;
}
