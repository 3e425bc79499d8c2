import { isRecord } from "../../../api/fields.ts";
import { foreignText } from "../../../api/foreign-text.ts";
import { describe } from "../../../api/kubernetes.ts";
import { isReason, reasons } from "../../../api/reasons.ts";
import { type ActionInput, selectionOf } from "../action.ts";
import {
  type Diff,
  type DiffBlock,
  type DiffFlags,
  type DiffList,
  diffOf,
  installationOf,
} from "../commands/diff/diff-list.ts";
import { UsageError } from "../errors.ts";
import { selectInstallations } from "../hub/installations.ts";
import { notFoundErrors, stampAt } from "../output/report.ts";
import { stringAt } from "../selection/fields.ts";
import { clusterIdOf } from "../spokes/read-clusters.ts";
import { documentOf } from "./bundle-document.ts";
import { diffFile, notCompared, type RecordedFleet } from "./bundle.ts";
import { recordedAccess } from "./recorded-client.ts";

/** A diff in a bundle: the document, and both sides of every object. */
export interface RecordedDiff extends DiffList {
  readonly blocks: readonly (Omit<DiffBlock, "component"> & {
    readonly installation: DiffList["items"][number]["installation"];
  })[];
}

/** A diff in the form of a bundle. */
export function asRecorded({ list, blocks }: Diff): RecordedDiff {
  return {
    ...list,
    blocks: blocks.map(({ component, ...block }) => ({
      installation: installationOf(component),
      ...block,
    })),
  };
}

/** The recorded diff of the selected installations. Throws UsageError for a bundle without a diff. */
export async function recordedDiff(
  { args, flags, options, terminal }: ActionInput<DiffFlags>,
  signal: AbortSignal,
): Promise<Diff> {
  const { recorded } = flags;
  if (options.between !== undefined) {
    throw new UsageError("--between asks both clusters for their objects, which a bundle has not", [
      "Give the same command without --bundle.",
    ]);
  }
  const report = recorded && documentOf(recorded, diffFile);
  if (recorded === undefined || report === undefined || !hasBlocks(report)) {
    throw withoutDiff(recorded);
  }
  const access = recordedAccess(recorded);
  const selection = selectionOf(args, flags, access);
  const { components, missing } = await selectInstallations(access, selection, signal);
  const names = new Map(components.map((one) => [describe(installationOf(one)), one]));
  const blocks = report.blocks.flatMap(({ installation, ...block }) => {
    const component = names.get(describe(installation));
    return component === undefined ? [] : [{ component, ...block }];
  });
  const clusters = new Set(components.map(clusterIdOf));
  const errors = report.errors.filter(({ cluster }) => clusters.has(cluster ?? ""));
  const isOfOne = ({ message }: { readonly message: string }): boolean =>
    [...names.keys()].some((name) => message.startsWith(`${name}: `));
  return diffOf(
    {
      components,
      blocks,
      unread: errors.filter((error) => !isOfOne(error)),
      errors: [...notFoundErrors(missing), ...errors.filter(isOfOne)],
      sides: report.summary.sides,
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
  return Array.isArray(blocks) && blocks.every(isBlock);
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
