import { fleetSetKinds } from "../../../../api/fleet-set.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { setTones } from "../../fleet/status-sets.ts";
import type { FleetStatus } from "../../fleet/status.ts";
import { type SetItem, setText } from "../../hub/set-view.ts";
import type { Line } from "./screen-text.ts";

/** How many lines a screen has for sets. */
export function setHeight({ sets }: Pick<FleetStatus, "sets">, rows: number): number {
  return Math.min(sets?.length ?? 0, mostLines(rows));
}

function mostLines(rows: number): number {
  if (rows >= 22) return 3;
  return rows >= 16 ? 1 : 0;
}

/** A line for each fleet set, those in trouble first; the last one counts the sets that do not fit. */
export function setLines(report: Pick<FleetStatus, "sets">, rows: number): readonly Line[] {
  const sets = (report.sets ?? []).toSorted((one, other) => rankOf(one) - rankOf(other));
  const height = setHeight(report, rows);
  const shown = sets.slice(0, height);
  const left = sets.length - height;
  return shown.map((set, at) => {
    const { kind, namespace, name, phase } = set;
    const tone = phase === null ? "warning" : setTones[phase];
    const more = left > 0 && at === height - 1 ? `  (and ${left} more)` : "";
    const text = `${fleetSetKinds[kind].shortName}/${name} -n ${namespace}: ${setText(set)}${more}`;
    return [{ text: plainText(text), ...(tone === undefined ? {} : { tone }) }];
  });
}

function rankOf({ phase }: SetItem): number {
  const tone = phase === null ? "warning" : setTones[phase];
  if (tone === "bad") return 0;
  return tone === "good" ? 2 : 1;
}
