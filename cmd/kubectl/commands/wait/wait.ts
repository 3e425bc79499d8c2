import type { Component, ComponentKind } from "../../../../api/component.ts";
import type { FleetSetKind } from "../../../../api/fleet-set.ts";
import type { KnfCode } from "../../../../api/knf/knf-codes.ts";
import type { Condition } from "../../../../api/kubernetes.ts";
import { ownReasonOf } from "../../../../api/own-reason.ts";
import { reasons } from "../../../../api/reasons.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import { hubViewOf } from "../../hub/installations.ts";
import { conditionCode } from "../../output/condition-code.ts";
import { knfOf } from "../../output/knf-of.ts";
import type { Selection } from "../../selection/selection.ts";

/** One installation, or fleet set, that is waited for. */
export interface WaitItem extends Standing {
  readonly namespace: string | null;
  readonly name: string;
  /** Null: a name of either kind that does not exist. */
  readonly kind: ComponentKind | FleetSetKind | null;
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

interface Look {
  readonly selection: Pick<Selection, "names" | "namespace">;
  readonly before: readonly WaitItem[];
}

/**
 * Rows for the selected components and for names that do not exist. Of the components that existed before: with `deleted` all, otherwise those that were
 * named.
 */
export function waitItems(
  goal: Goal,
  components: readonly Component[],
  { selection, before }: Look,
): readonly WaitItem[] {
  const present = components.map((component) => itemOf(goal, component));
  const isDeletion = goal.kind === "deleted";
  return withAbsent(present, { ...selection, before, isDeletion });
}

interface Absence extends Pick<Look, "before"> {
  readonly names: readonly Wanted[];
  readonly namespace?: string | undefined;
  /** Whether it is their absence that is waited for. */
  readonly isDeletion: boolean;
}

/** Rows of what is there, of what was there before, and of names that do not exist. */
export function withAbsent(
  present: readonly WaitItem[],
  { names, namespace: place, before, isDeletion }: Absence,
): readonly WaitItem[] {
  const isGone = (item: WaitItem): boolean =>
    wasThere(item) && !present.some((one) => isSame(one, item));
  const gone = before
    .filter(isGone)
    .filter((item) => isDeletion || names.some((name) => answers(item, name)));
  const missing = names
    .map(({ kind, namespace, name }) => ({ kind: kind ?? null, namespace, name }))
    .filter((wanted) => ![...present, ...gone].some((item) => answers(item, wanted)))
    .map(({ kind, namespace, name }) => ({
      ...(isDeletion ? met : notThere),
      cluster: null,
      namespace: namespace ?? place ?? null,
      name,
      kind,
    }));
  return [
    ...present,
    ...gone.map((item) => ({ ...item, ...standingOfGone(isDeletion) })),
    ...missing,
  ];
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

function isSame(one: WaitItem, other: WaitItem): boolean {
  return one.kind === other.kind && one.namespace === other.namespace && one.name === other.name;
}

interface Wanted {
  readonly kind?: WaitItem["kind"];
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

/** Goal of the waiting. */
export type Goal =
  | { readonly kind: "ready" | "resolved" | "deleted" }
  | { readonly kind: "version"; readonly version: string };

/** Progress of one installation towards a goal. `inProgress`: an installation or a rollout goes on. `failed`: it cannot be reached without help from outside. */
export interface Standing {
  readonly state: "met" | "inProgress" | "waiting" | "failed";
  readonly reason: string | null;
  /** The number of the reason; null where nothing is wrong, and for words of other programs. */
  readonly code: KnfCode | null;
  /** Foreign text. */
  readonly message: string | null;
}

const conditionGoals: Readonly<Record<string, string>> = {
  ready: "ready",
  targetclusterresolved: "resolved",
  complete: "complete",
};

/** The value of `--for` in the words of this command: `kubectl wait` has `delete`, and conditions by their type, such as `condition=Ready` and `condition=Ready=True`. */
export function goalText(text: string): string {
  const [, condition = text] = /^condition=(\w+)(?:=true)?$/i.exec(text) ?? [];
  if (condition.toLowerCase() === "delete") return "deleted";
  return conditionGoals[condition.toLowerCase()] ?? text;
}

/** Reads the value of `--for`. Throws UsageError. */
export function goalOf(text: string): Goal {
  const [, version] = /^version=v?(\d+(?:\.\d+){0,2}(?:-[\w.-]+)?)$/.exec(text) ?? [];
  if (version !== undefined) return { kind: "version", version };
  const word = goalText(text);
  const kind = (["ready", "resolved", "deleted"] as const).find((each) => each === word);
  if (kind !== undefined) return { kind };
  const wanted =
    "want ready, resolved, deleted or version=1.22; of a fleet set complete or stage=NAME";
  throw new UsageError(`Invalid value "${text}" for --for: ${wanted}`);
}

export const met: Standing = { state: "met", reason: null, code: null, message: null };

/** How a component stands to a goal; undefined: it does not exist. */
export function standingOf(goal: Goal, component: Component | undefined): Standing {
  if (component === undefined) return goal.kind === "deleted" ? met : notThere;
  const { state, reason, code, message } = hubViewOf(component);
  if (goal.kind === "deleted") return { state: "waiting", reason, code, message };
  if (state === "Deleting") {
    return { state: "failed", reason, code, message: "It is being deleted" };
  }
  return currentStanding(goal, component);
}

/** How a name that does not exist stands to a goal that needs it. */
const notThere: Standing = {
  state: "waiting",
  reason: "NotFound",
  code: knfOf("NotFound"),
  message: "It does not exist yet",
};

/** How a component that was there and is there no more stands to a goal. */
function standingOfGone(isDeletion: boolean): Standing {
  if (isDeletion) return met;
  return { ...notThere, state: "failed", message: "It was deleted while it was waited for" };
}

function currentStanding(goal: Goal, component: Component): Standing {
  const { state, reason, code, message } = hubViewOf(component);
  const isCurrent = state !== "Outdated" && state !== "Unknown";
  if (isCurrent && isMet(goal, component)) return met;
  const blocked = isCurrent ? helplessReason(component) : undefined;
  if (blocked !== undefined) return failedBecause(blocked, component);
  const lag = goal.kind === "version" && state === "Ready" ? versionText(goal, component) : message;
  return { state: state === "InProgress" ? "inProgress" : "waiting", reason, code, message: lag };
}

function failedBecause(condition: Condition, { status }: Component): Standing {
  const { reason = "", message = "" } = condition;
  return { state: "failed", reason, code: conditionCode(condition, status?.conditions), message };
}

function isMet(goal: Goal, component: Component): boolean {
  if (goal.kind === "resolved") return isTrue(component, "TargetClusterResolved");
  if (!isTrue(component, "Ready")) return false;
  return goal.kind !== "version" || isVersion(goal.version, component.status?.version);
}

/** `1.22` is every patch of it. */
function isVersion(wanted: string, installed: string | undefined): boolean {
  const plain = installed?.replace(/^v/, "") ?? "";
  return plain === wanted || plain.startsWith(`${wanted}.`);
}

function versionText({ version }: { readonly version: string }, { status }: Component): string {
  return `Version ${status?.version ?? "<unknown>"} is installed, not ${version}`;
}

function isTrue({ status }: Component, type: string): boolean {
  return status?.conditions?.some((one) => one.type === type && one.status === "True") === true;
}

// A cluster manager sets ControlPlaneHealthy and a scheduler makes pods available, both without a person.
const mayHeal = ["ClusterProfileNotReady", "DeploymentsNotReady"];

/** The condition that becomes true only after a person or another change helps. */
function helplessReason({ status }: Component): Condition | undefined {
  return status?.conditions?.find((condition) => {
    if (condition.status !== "False") return false;
    // Upstream and this controller both write `Error` there.
    if (condition.type === "VersionMigrationEligible") return true;
    const reason = ownReasonOf(condition, status.conditions);
    const entry = Object.entries(reasons).find(([name]) => name === reason)?.[1];
    return entry?.retry === "change" && !mayHeal.includes(reason);
  });
}

/** How many of `total` have to meet the goal: `5`, `90%`, rounded up. Throws UsageError. */
export function minimumOf(text: string, total: number): number {
  const [, number, percent] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  const count = Number(number ?? Number.NaN);
  if (Number.isNaN(count) || (percent === "%" && count > 100)) {
    throw new UsageError(`Invalid value "${text}" for --min: want a number or a percentage`);
  }
  return percent === "%" ? Math.ceil((total * count) / 100) : count;
}
