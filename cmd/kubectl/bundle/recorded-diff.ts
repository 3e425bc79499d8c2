import type { Component } from "../../../api/component.ts";
import { foreignText } from "../../../api/foreign-text.ts";
import { targetId } from "../../../api/keys.ts";
import { describe } from "../../../api/kubernetes.ts";
import { isReason, reasons } from "../../../api/reasons.ts";
import diffSchema from "../../../docs/schemas/v1/DiffList.json" with { type: "json" };
import { selectionOf } from "../action.ts";
import {
  type Diff,
  type DiffBlock,
  type DiffItem,
  type DiffList,
  diffOf,
  installationOf,
  type ComparisonFailure,
} from "../compare/diff-list.ts";
import { UsageError } from "../errors.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { selectInstallations } from "../hub/installations.ts";
import { stampAt, withCodes } from "../output/report.ts";
import { documentOf } from "./bundle-document.ts";
import { diffFile, notCompared, type RecordedFleet } from "./bundle.ts";
import { checkedDocument, schemaOf } from "./document-check.ts";
import { recordedAccess } from "./recorded-client.ts";

type OfInstallation<Part> = Omit<Part, "component"> & Pick<DiffItem, "installation">;

/** A diff in a bundle: the document, both sides of every object, and the errors of the document that are about one installation. */
export interface RecordedDiff extends DiffList {
  readonly blocks: readonly OfInstallation<DiffBlock>[];
  readonly failures?: readonly OfInstallation<ComparisonFailure>[];
}

/** A diff in the form of a bundle. */
export function asRecorded({ list, blocks, failures }: Diff): RecordedDiff {
  return { ...withCodes(list), blocks: blocks.map(named), failures: failures.map(named) };
}

function named<Part extends { readonly component: Component }>({ component, ...part }: Part) {
  return { installation: installationOf(component), ...part };
}

/** The recorded diff of the selected installations. Throws UsageError for a bundle without a diff. */
export async function recordedDiff({ args, flags, now, signal }: Fleet): Promise<Diff> {
  const { recorded } = flags;
  const list = recorded && documentOf(recorded, diffFile);
  const report = list && withBlocks(list, recorded.path);
  if (recorded === undefined || report === undefined) throw withoutDiff(recorded);
  const access = recordedAccess(recorded, flags);
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
  const clusters = new Set(components.map(targetId));
  const { errors, summary } = report;
  return diffOf(
    {
      components,
      blocks: report.blocks.flatMap(selected),
      failures: (report.failures ?? []).flatMap(selected),
      missing,
      // The errors about clusters are the last ones.
      unread: errors
        .slice(errors.length - summary.unread)
        .filter(({ cluster }) => clusters.has(cluster ?? "")),
    },
    stampAt(now(), report.cliVersion),
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

/** A diff with both sides of its objects, which the document of `diff` has not. Throws UsageError for sides of another form. */
function withBlocks(list: DiffList, path: string): RecordedDiff | undefined {
  if (!("blocks" in list)) return undefined;
  const found = { path, file: diffFile, document: list };
  return checkedDocument(found, schemaOf<RecordedDiff>(blocksSchema), again);
}

const text = { type: "string" };
const manifest = {
  type: "object",
  required: ["apiVersion", "kind", "metadata"],
  properties: {
    apiVersion: text,
    kind: text,
    metadata: { type: "object", required: ["name"], properties: { name: text, namespace: text } },
  },
};

const { installation, change } = diffSchema.properties.items.items.properties;

const blocksSchema = {
  required: ["blocks"],
  properties: {
    failures: {
      type: "array",
      items: {
        type: "object",
        required: ["installation", "error"],
        properties: {
          installation,
          error: {
            type: "object",
            required: ["reason", "message"],
            properties: { reason: text, message: text },
          },
        },
      },
    },
    blocks: {
      type: "array",
      items: {
        type: "object",
        required: ["installation", "compared", "changes"],
        properties: {
          installation,
          compared: { type: "integer" },
          changes: {
            type: "array",
            items: {
              type: "object",
              required: ["change", "key", "managers", "message"],
              properties: {
                change,
                key: {
                  type: "object",
                  required: ["apiVersion", "kind", "name"],
                  properties: { apiVersion: text, kind: text, name: text, namespace: text },
                },
                managers: { type: "array", items: text },
                message: { type: ["string", "null"] },
                pods: { type: ["integer", "null"] },
                live: manifest,
                wanted: manifest,
              },
            },
          },
        },
      },
    },
  },
};
