import type { Component } from "../../../api/component.ts";
import { isRecord } from "../../../api/fields.ts";
import { foreignText } from "../../../api/foreign-text.ts";
import { describe } from "../../../api/kubernetes.ts";
import { isReason, reasons } from "../../../api/reasons.ts";
import { type ActionInput, selectionOf } from "../action.ts";
import {
  type Diff,
  type DiffBlock,
  type DiffItem,
  type DiffList,
  diffOf,
  installationOf,
  type ComparisonFailure,
} from "../commands/diff/diff-list.ts";
import { UsageError } from "../errors.ts";
import { selectInstallations } from "../hub/installations.ts";
import { stampAt, withCodes } from "../output/report.ts";
import { stringAt } from "../selection/fields.ts";
import { clusterIdOf } from "../spokes/read-clusters.ts";
import { documentOf } from "./bundle-document.ts";
import { diffFile, notCompared, type RecordedFleet } from "./bundle.ts";
import { recordedAccess } from "./recorded-client.ts";

type OfInstallation<Part> = Omit<Part, "component"> & Pick<DiffItem, "installation">;

/** A diff in a bundle: the document, both sides of every object, and the errors of the document that are about one installation. */
export interface RecordedDiff extends DiffList {
  readonly blocks: readonly OfInstallation<DiffBlock>[];
  readonly failures: readonly OfInstallation<ComparisonFailure>[];
}

/** A diff in the form of a bundle. */
export function asRecorded({ list, blocks, failures }: Diff): RecordedDiff {
  return { ...withCodes(list), blocks: blocks.map(named), failures: failures.map(named) };
}

function named<Part extends { readonly component: Component }>({ component, ...part }: Part) {
  return { installation: installationOf(component), ...part };
}

/** The recorded diff of the selected installations. Throws UsageError for a bundle without a diff. */
export async function recordedDiff(
  { args, flags, terminal }: ActionInput<object>,
  signal: AbortSignal,
): Promise<Diff> {
  const { recorded } = flags;
  const report = recorded && documentOf(recorded, diffFile);
  if (recorded === undefined || report === undefined || !hasBlocks(report)) {
    throw withoutDiff(recorded);
  }
  const access = recordedAccess(recorded);
  const selection = selectionOf(args, flags, access);
  const { components, missing } = await selectInstallations(access, selection, signal);
  const names = new Map(components.map((one) => [describe(installationOf(one)), one]));
  const selected = <Part extends Pick<DiffItem, "installation">>({
    installation,
    ...part
  }: Part) => {
    const component = names.get(describe(installation));
    return component === undefined ? [] : [{ component, ...part }];
  };
  const clusters = new Set(components.map(clusterIdOf));
  const { errors, summary } = report;
  return diffOf(
    {
      components,
      blocks: report.blocks.flatMap(selected),
      failures: report.failures.flatMap(selected),
      missing,
      // The errors about clusters are the last ones.
      unread: errors
        .slice(errors.length - summary.unread)
        .filter(({ cluster }) => clusters.has(cluster ?? "")),
    },
    stampAt(terminal.now(), report.cliVersion),
  );
}

// Without a file name: an existing file is not overwritten.
const again = "kubectl knfleet gather -A --diff";

/** Says why a bundle holds no diff, as `gather` has said it in the bundle. */
function withoutDiff(recorded: RecordedFleet | undefined): UsageError {
  if (recorded?.documents.has(diffFile) === true) {
    return new UsageError("The bundle holds a diff without the objects that it compares", [again]);
  }
  const error = recorded?.errors.find(({ message }) => message.startsWith(notCompared));
  if (error === undefined) {
    return new UsageError("The bundle holds no diff: it was gathered without --diff", [again]);
  }
  const { reason, message } = error;
  const why = foreignText(message.slice(notCompared.length));
  return new UsageError(`The bundle holds no diff, because gather could not compare: ${why}`, [
    ...(isReason(reason) ? [reasons[reason].next] : []),
    again,
  ]);
}

/** Whether a diff has both sides of its objects, which the document of `diff` has not. */
function hasBlocks(list: DiffList): list is RecordedDiff {
  const blocks = "blocks" in list ? list.blocks : undefined;
  const failures = "failures" in list ? list.failures : undefined;
  return (
    Array.isArray(blocks) &&
    blocks.every(isBlock) &&
    Array.isArray(failures) &&
    failures.every(isFailure)
  );
}

function isFailure(value: unknown): boolean {
  return (
    isRecord(value) &&
    isRecord(value["installation"]) &&
    ["reason", "message"].every((field) => stringAt(value, "error", field) !== null)
  );
}

function isBlock(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value["installation"])) return false;
  const { changes, compared } = value;
  return typeof compared === "number" && Array.isArray(changes) && changes.every(isChange);
}

function isChange(value: unknown): boolean {
  if (!isRecord(value) || stringAt(value, "change") === null) return false;
  const { key, live, wanted, managers } = value;
  const sides = [live, wanted].filter((side) => side !== undefined);
  const isKeyed = ["apiVersion", "kind", "name"].every((field) => stringAt(key, field) !== null);
  return isKeyed && Array.isArray(managers) && sides.every(isManifest);
}

function isManifest(value: unknown): boolean {
  return isRecord(value) && isRecord(value["metadata"]) && stringAt(value, "kind") !== null;
}
