import type { ClusterProfileRef, Component, ComponentKind } from "../../../api/component.ts";
import { targetId } from "../../../api/keys.ts";
import { describe } from "../../../api/kubernetes.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import {
  installationError,
  notFoundErrors,
  type ReportDocument,
  type ReportError,
  reportOf,
  type ReportStamp,
} from "../output/report.ts";
import { type FieldChange, fieldChanges } from "./comparable.ts";
import type { ChangeKind, Comparison, ObjectChange } from "./compare.ts";

/** One object that differs. */
export interface DiffItem {
  /** The ClusterProfile of the cluster; null for the hub itself. */
  readonly cluster: ClusterProfileRef | null;
  readonly installation: {
    readonly kind: ComponentKind;
    readonly namespace: string;
    readonly name: string;
  };
  readonly change: ChangeKind;
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string | null;
    readonly name: string;
  };
  /** What differs; empty when one side does not have the object. */
  readonly fields: readonly FieldChange[];
  /** Other field managers of the object. */
  readonly managers: readonly string[];
  readonly message: string | null;
}

interface DiffSummary {
  readonly installations: number;
  readonly clusters: number;
  readonly unread: number;
  /** Objects that were compared. */
  readonly compared: number;
  readonly changed: number;
  readonly missing: number;
  readonly extra: number;
  /** Names of both sides: `live` and `rendered`. */
  readonly sides: readonly [live: string, wanted: string];
}

export type DiffList = ReportDocument<"DiffList", DiffSummary, DiffItem>;

/** The item of a document for a changed object. */
export function diffItem(
  component: Component,
  { change, key, live, wanted, managers, message }: ObjectChange,
): DiffItem {
  const { apiVersion, namespace = null, name } = key;
  const both = live !== undefined && wanted !== undefined;
  return {
    cluster: component.spec?.clusterProfileRef ?? null,
    installation: installationOf(component),
    change,
    object: { apiVersion, kind: key.kind, namespace, name },
    fields: both && change !== "refused" ? fieldChanges(live, wanted) : [],
    managers,
    message,
  };
}

/** The reference to an installation in a document. */
export function installationOf({ kind, metadata }: Component): DiffItem["installation"] {
  return { kind, namespace: metadata.namespace, name: metadata.name };
}

/** The differences of one installation. */
export interface DiffBlock {
  readonly component: Component;
  readonly changes: readonly ObjectChange[];
  /** Number of objects. */
  readonly compared: number;
}

/** Why an installation, or an object of it, could not be compared. */
export interface ComparisonFailure {
  readonly component: Component;
  readonly error: ReportError;
}

export interface Diff {
  readonly list: DiffList;
  readonly blocks: readonly DiffBlock[];
  readonly failures: readonly ComparisonFailure[];
}

interface Parts extends Omit<Diff, "list"> {
  readonly components: readonly Component[];
  /** Names without an installation. */
  readonly missing: readonly string[];
  readonly unread: readonly ReportError[];
}

/** The diff, with its document. */
export function diffOf(
  { components, blocks, failures, missing, unread }: Parts,
  stamp: ReportStamp,
): Diff {
  const items = blocks.flatMap(({ component, changes }) =>
    changes.map((change) => diffItem(component, change)),
  );
  const errors = [...notFoundErrors(missing), ...failures.map(({ error }) => error), ...unread];
  const list: DiffList = reportOf("DiffList", stamp, {
    complete: errors.every(({ reason }) => reason === "NotFound"),
    summary: {
      installations: components.length,
      clusters: new Set(components.map(targetId)).size,
      unread: unread.length,
      compared: blocks.reduce((sum, { compared }) => sum + compared, 0),
      ...changeCounts(items),
      sides: ["live", "rendered"],
    },
    items,
    errors,
  });
  return { list, blocks, failures };
}

function changeCounts(
  items: readonly Pick<DiffItem, "change">[],
): Pick<DiffSummary, "changed" | "missing" | "extra"> {
  const count = (...kinds: readonly ChangeKind[]): number =>
    items.filter(({ change }) => kinds.includes(change)).length;
  return {
    changed: count("changed", "replaced", "leaving", "refused"),
    missing: count("missing"),
    extra: count("extra"),
  };
}

/** An error for each object of an installation that may not be read. */
export function deniedErrors(
  component: Component,
  denied: Comparison["denied"],
): readonly ReportError[] {
  return denied.map(({ key, message }) =>
    installationError(component, {
      reason: "Forbidden",
      message: `${describe(key)} may not be read: ${message}`,
    }),
  );
}

/** As for kubectl diff: 0 no difference, 1 a difference, and here 3 when something could not be compared and nothing differs. */
export function diffExitCode({ items, errors, complete }: DiffList): ExitCode {
  const isMissing = errors.some(({ reason }) => reason === "NotFound");
  if (items.length > 0 || isMissing) return exitCodes.unhealthy;
  return complete ? exitCodes.fine : exitCodes.incomplete;
}
