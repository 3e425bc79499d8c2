import {
  type FleetSet,
  type FleetSetKind,
  fleetSetKinds,
  type RolloutPhase,
  setLabels,
} from "../../../api/fleet-set.ts";
import { UsageError } from "../errors.ts";
import type { SetItem } from "../hub/set-view.ts";
import type { Looks } from "../main/report.ts";
import { orNone, type Table, type Tone } from "../output/table.ts";
import type { Selection } from "../selection/selection.ts";
import { fleetSetRefOf, setTitle } from "../selection/set-ref.ts";

/** The set of `--set`; without a kind both kinds. */
export interface WantedSet {
  readonly kind?: FleetSetKind;
  readonly name: string;
}

/** Reads the value of `--set`: `kss/NAME`, `kes/NAME` or NAME. Throws UsageError. */
export function wantedSetOf(text: string): WantedSet {
  const isTyped = text.includes("/");
  const ref = fleetSetRefOf(isTyped ? text : `kss/${text}`);
  if (ref !== undefined) return isTyped ? ref : { name: ref.name };
  throw new UsageError(
    `There is no type of "${text}": use KnativeServingSet (kss) or KnativeEventingSet (kes)`,
    ["Write --set TYPE/NAME or --set NAME, such as --set kss/prod."],
  );
}

/** Of a selection those installations that a set has stamped. Throws UsageError for a set of no selected type. */
export function ofSet(selection: Selection, { kind, name }: WantedSet): Selection {
  const labels = {
    [setLabels.set]: name,
    ...(kind === undefined ? {} : { [setLabels.kind]: kind }),
  };
  const own = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const kinds = selection.kinds.filter(
    (one) => kind === undefined || one === fleetSetKinds[kind].component,
  );
  if (kind !== undefined && kinds.length === 0) {
    const { shortName } = fleetSetKinds[kind];
    throw new UsageError(`${shortName}/${name} stamps no ${selection.kinds.join(" and no ")}`);
  }
  const { labelSelector } = selection;
  const all = labelSelector === undefined ? own : [labelSelector, ...own];
  return { ...selection, kinds, labelSelector: all.join(",") };
}

/** Of these sets the wanted ones; without a wanted one all. */
export function wantedSets(
  sets: readonly FleetSet[],
  wanted: WantedSet | undefined,
): readonly FleetSet[] {
  return wanted === undefined ? sets : sets.filter(({ metadata }) => metadata.name === wanted.name);
}

/** How messages name a wanted set. */
export function wantedSetTitle({ kind, name }: WantedSet): string {
  return kind === undefined ? `fleet set "${name}"` : setTitle({ kind, name });
}

/** What phases mean; the others are on their way. */
export const setTones: Readonly<Partial<Record<RolloutPhase, Tone>>> = {
  Complete: "good",
  Halted: "bad",
  Blocked: "bad",
  RollingBack: "bad",
  RolledBack: "bad",
};

/** A row for each set. */
export function setsTable(
  sets: readonly SetItem[],
  { isWide: wide }: Pick<Looks, "isWide">,
): Table {
  return {
    headers: [
      "NAMESPACE",
      "SET",
      "VERSION",
      "PHASE",
      "STAGE",
      "DONE",
      "FAILED",
      ...(wide ? ["REVISION"] : []),
      "MESSAGE",
    ],
    mayShorten: ["MESSAGE"],
    rows: sets.map((set) => [
      set.namespace,
      `${fleetSetKinds[set.kind].shortName}/${set.name}`,
      orNone(set.version),
      phaseCell(set.phase),
      orNone(set.stage),
      `${set.done}/${set.selected}`,
      set.failed === 0 ? "0" : { text: String(set.failed), tone: "bad" },
      ...(wide ? [orNone(set.revision)] : []),
      orNone(set.message),
    ]),
  };
}

function phaseCell(phase: SetItem["phase"]): Table["rows"][number][number] {
  if (phase === null) return "<unknown>";
  return { text: phase, tone: setTones[phase] ?? "warning" };
}
