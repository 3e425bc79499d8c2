import { isRecord } from "../../../../api/fields.ts";
import { type ActionInput, askedOf, openReading, print, tableText } from "../../action.ts";
import type { FilenameFlag } from "../../common-options.ts";
import { type ExitCode, UsageError } from "../../errors.ts";
import { orderedBy, sortedBy, textOf } from "../../output/jsonpath.ts";
import { unreadNotes } from "../../output/notes.ts";
import { listExitCode } from "../../output/report.ts";
import { orNone, type Table } from "../../output/table.ts";
import { stringAt } from "../../selection/fields.ts";
import { readSelection } from "../../selection/selection-file.ts";
import { openClusterAccess } from "../../spokes/open-cluster-access.ts";
import {
  getObjects,
  type ObjectBlock,
  type ObjectItem,
  type Wanted,
  type WantedObjects,
} from "./get.ts";

/** Flags of `get` alone. */
interface GetFlags extends FilenameFlag {
  readonly spokeNamespace?: string;
  readonly allSpokeNamespaces?: boolean;
  readonly spokeSelector?: string;
  readonly fieldSelector?: string;
  readonly showLabels?: boolean;
}

/** `kubectl knfleet get`. */
export async function runGet(input: ActionInput<GetFlags>, signal: AbortSignal): Promise<ExitCode> {
  const { args, flags, options, terminal } = input;
  const wanted = { ...wantedOf(args, options), pageSize: flags.chunkSize };
  const { env, now } = terminal;
  await using access = await openClusterAccess(flags, { env, spokes: true }, signal);
  const selection = await readSelection({ ...input, args: [] }, access, signal);
  const { limits, end } = openReading(flags, terminal);
  const { list, blocks } = await getObjects(
    { selection, wanted },
    { access, limits, now },
    signal,
  ).finally(end);
  const sortBy = pathInItem(flags.sortBy);
  const document = sortedBy(list, sortBy);
  const wide = flags.output === "wide";
  const tables = blocks.map((block) => {
    const rows = orderedBy({ items: block.rows }, sortBy).items;
    return tableText(tableOf({ ...block, rows }, { ...options, wide }), flags, terminal);
  });
  const isNone = blocks.length === 0 && list.errors.length === 0;
  await print(
    {
      document,
      heading: tables.join("\n"),
      names: blocks.flatMap(({ type, rows }) => rows.map((row) => nameOf(type, row))),
      notes: [
        ...(isNone ? ["No resources found."] : []),
        ...unreadNotes(list.errors, list.summary, askedOf(selection, flags)),
      ],
    },
    flags,
    terminal,
  );
  return listExitCode(list);
}

/** A path for `kubectl get` starts at the object, which is a field of the item here. */
function pathInItem(path: string | undefined): string | undefined {
  const [, steps = ""] = /^\{?\.?(.*?)\}?$/.exec(path ?? "") ?? [];
  return /^(?:apiVersion|kind|metadata|spec|status|data)\b/.test(steps) ? `.object.${steps}` : path;
}

function wantedOf(args: readonly string[], options: GetFlags): Omit<Wanted, "pageSize"> {
  const { spokeNamespace, allSpokeNamespaces = false, spokeSelector, fieldSelector } = options;
  return {
    objects: objectsOf(args),
    namespace: allSpokeNamespaces ? null : spokeNamespace,
    labelSelector: spokeSelector,
    fieldSelector,
  };
}

const example = "kubectl knfleet get pods -A";

/** `KIND[,KIND...] [NAME...]` or `KIND/NAME...`, as kubectl reads them. Throws UsageError. */
function objectsOf(args: readonly string[]): readonly WantedObjects[] {
  if (args.some((arg) => arg.includes("/"))) return ofEachKind(args.map(objectNamed));
  const [first = "", ...names] = args;
  const kinds = first.split(",").filter((word) => word !== "");
  if (kinds.length > 0) return [{ kinds, names }];
  throw new UsageError("There is nothing to get: name a kind", [example]);
}

interface Named {
  readonly kind: string;
  readonly name: string;
}

/** One list for each kind, however many of its objects are named. */
function ofEachKind(named: readonly Named[]): readonly WantedObjects[] {
  return [...Map.groupBy(named, ({ kind }) => kind)].map(([kind, all]) => ({
    kinds: [kind],
    names: all.map(({ name }) => name),
  }));
}

function objectNamed(arg: string): Named {
  const [kind = "", name = "", ...rest] = arg.split("/");
  if (kind !== "" && name !== "" && rest.length === 0) return { kind, name };
  throw new UsageError(`"${arg}" is no object: write KIND NAME, or only KIND/NAME`, [example]);
}

function tableOf(
  { namespaced, columns, rows }: ObjectBlock,
  { showLabels = false, wide }: GetFlags & { readonly wide: boolean },
): Table {
  const shown = columns.flatMap(({ name, priority }, at) =>
    priority === 0 || wide ? [{ name, at }] : [],
  );
  return {
    headers: [
      "CLUSTER",
      ...(namespaced ? ["NAMESPACE"] : []),
      ...shown.map(({ name }) => name.toUpperCase()),
      ...(showLabels ? ["LABELS"] : []),
    ],
    rows: rows.map(({ cluster, cells, object }) => [
      cluster ?? "<hub>",
      ...(namespaced ? [orNone(stringAt(object, "metadata", "namespace"))] : []),
      ...shown.map(({ at }) => orNone(textOf(cells[at]))),
      ...(showLabels ? [labelsOf(object)] : []),
    ]),
  };
}

function labelsOf(object: ObjectItem["object"]): string {
  const { metadata } = object;
  const labels = isRecord(metadata) ? metadata["labels"] : undefined;
  const pairs = Object.entries(isRecord(labels) ? labels : {});
  return orNone(pairs.map(([name, value]) => `${name}=${textOf(value)}`).join(","));
}

function nameOf(type: string, { cluster, object }: ObjectItem): string {
  const namespace = stringAt(object, "metadata", "namespace");
  const name = stringAt(object, "metadata", "name");
  return [cluster ?? "<hub>", namespace, type, name].filter((part) => part !== null).join("/");
}
