import type { Component, ComponentKind } from "../../../../api/component.ts";
import { exitCodes, type ExitCode } from "../../exit-codes.ts";
import type { Selection } from "../../selection/selection.ts";
import type { Report } from "../status/report.ts";
import { notThere, standingOf, standingOfGone, type Goal, type Standing } from "./goal.ts";

/** One installation that is waited for. */
export interface WaitItem extends Standing {
  readonly namespace: string | null;
  readonly name: string;
  /** Null: a name of either kind that does not exist. */
  readonly kind: ComponentKind | null;
  readonly cluster: { readonly namespace: string; readonly name: string } | null;
}

export interface WaitSummary {
  readonly total: number;
  readonly met: number;
  readonly failed: number;
  /** How many have to meet the goal. */
  readonly wanted: number;
  readonly outcome: "met" | "failed" | "timedOut" | "interrupted";
  readonly elapsedSeconds: number;
}

export type WaitReport = Report<"Wait", WaitSummary, WaitItem>;

/**
 * The rows for what exists now: the selected components, names that do not exist, and of those that were there before all for `deleted`, and what was
 * named otherwise.
 */
export function waitItems(
  goal: Goal,
  components: readonly Component[],
  { selection, before }: { readonly selection: Selection; readonly before: readonly WaitItem[] },
): readonly WaitItem[] {
  const present = components.map((component) => itemOf(goal, component));
  const isGone = (item: WaitItem): boolean =>
    wasThere(item) && !present.some((one) => isSame(one, item));
  const gone = before
    .filter(isGone)
    .filter(
      (item) => goal.kind === "deleted" || selection.names.some((name) => answers(item, name)),
    );
  const missing = selection.names
    .map(({ kind, namespace, name }) => ({ kind: kind ?? null, namespace, name }))
    .filter((wanted) => ![...present, ...gone].some((item) => answers(item, wanted)))
    .map(({ kind, namespace, name }) => ({
      ...absent(goal),
      namespace: namespace ?? selection.namespace ?? null,
      name,
      kind,
    }));
  return [...present, ...gone.map((item) => ({ ...item, ...standingOfGone(goal) })), ...missing];
}

/** False for a name that has not existed yet. */
function wasThere({ state, reason }: WaitItem): boolean {
  return state !== "waiting" || reason !== notThere.reason;
}

function itemOf(goal: Goal, component: Component): WaitItem {
  const { kind, metadata, spec } = component;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    kind,
    cluster: spec?.clusterProfileRef ?? null,
    ...standingOf(goal, component),
  };
}

function absent(goal: Goal): Standing & Pick<WaitItem, "cluster"> {
  return { cluster: null, ...standingOf(goal, undefined) };
}

function isSame(one: WaitItem, other: WaitItem): boolean {
  return one.kind === other.kind && one.namespace === other.namespace && one.name === other.name;
}

interface Wanted {
  readonly kind?: ComponentKind | null;
  readonly namespace?: string;
  readonly name: string;
}

function answers(item: WaitItem, { kind = null, namespace, name }: Wanted): boolean {
  const isPlace = namespace === undefined || item.namespace === namespace;
  return isPlace && item.name === name && (kind === null || item.kind === kind);
}

/** The exit code that an outcome stands for. */
export function waitExitCode({ outcome }: WaitSummary): ExitCode {
  return {
    met: exitCodes.fine,
    failed: exitCodes.unhealthy,
    timedOut: exitCodes.timedOut,
    interrupted: exitCodes.interrupted,
  }[outcome];
}
