import { byText, isRecord } from "../../../../api/fields.ts";
import { UsageError } from "../../errors.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { Report } from "../../main/report.ts";
import { orderedBy, textOf } from "../../output/jsonpath.ts";
import { objectName } from "../../output/names.ts";
import type { ReportError } from "../../output/report.ts";
import { orNone, type Table } from "../../output/table.ts";
import { stringAt } from "../../selection/fields.ts";
import { fleetSetKindOf } from "../../selection/set-ref.ts";
import type { Column } from "../../spokes/object-table.ts";
import { targetsOf } from "../../spokes/read-clusters.ts";
import {
  type ClusterObjects,
  nameOf,
  readObjects,
  type Wanted,
  type WantedObjects,
} from "./read-objects.ts";

/** One object of one cluster. */
export interface ObjectItem {
  /** `namespace/name` of the ClusterProfile; null for the hub itself. */
  readonly cluster: string | null;
  /** The object as the API server returned it, without managedFields; Secrets without their values. */
  readonly object: Readonly<Record<string, unknown>>;
}

/** Rows of one kind with the same columns, of all clusters. */
interface ObjectBlock {
  readonly type: string;
  readonly namespaced: boolean;
  readonly columns: readonly Column[];
  readonly rows: readonly (ObjectItem & { readonly cells: readonly unknown[] })[];
}

/** Flags of `get`. */
interface GetFlags {
  readonly spokeNamespace: string | undefined;
  readonly allSpokeNamespaces: boolean;
  readonly spokeSelector: string | undefined;
  readonly fieldSelector: string | undefined;
  readonly showLabels: boolean;
}

/** The objects of the selected installations' clusters, by cluster, kind, namespace and name. Throws only when the hub cannot be read. */
export async function getObjects(fleet: Fleet, flags: GetFlags): Promise<Report<ObjectItem>> {
  const wanted: Wanted = {
    objects: objectsOf(fleet.args),
    namespace: flags.allSpokeNamespaces ? null : flags.spokeNamespace,
    labelSelector: flags.spokeSelector,
    fieldSelector: flags.fieldSelector,
    pageSize: fleet.flags.chunkSize,
  };
  const { components } = await fleet.installations();
  const read = await fleet.read(targetsOf(components), readObjects(components, wanted));
  const facts = read.all.map(([id, own]) => ({ cluster: id === "" ? null : id, ...own }));
  const blocks = blocksOf(facts);
  const named = new Map(
    blocks.flatMap(({ type, rows }) =>
      rows.map(({ cluster, object }) => {
        const item: ObjectItem = { cluster, object };
        const namespace = stringAt(object, "metadata", "namespace") ?? "";
        return [item, objectName(cluster, { namespace, type, name: nameOf({ object }) })] as const;
      }),
    ),
  );
  const items = [...named.keys()];
  const refused = facts.flatMap(({ cluster, refused: own }) =>
    own.map((error) => ({ ...error, cluster })),
  );
  const errors = [...missing(wanted, facts), ...refused, ...read.unread];
  const sortBy = pathInItem(fleet.flags.sortBy);
  return {
    items,
    summary: { objects: items.length, ...read.counts },
    errors,
    tables: ({ isWide }) =>
      blocks.map((block) => {
        const { items: rows } = orderedBy({ items: block.rows }, sortBy);
        return tableOf({ ...block, rows }, isWide, flags.showLabels);
      }),
    sortPath: (path) => pathInItem(path) ?? path,
    name: (item) => named.get(item),
    notes: () => (blocks.length + errors.length === 0 ? ["No resources found."] : []),
  };
}

/** A path for `kubectl get` starts at the object, which is a field of the item here. */
function pathInItem(path: string | undefined): string | undefined {
  const [, steps = ""] = /^\{?\.?(.*?)\}?$/.exec(path ?? "") ?? [];
  return /^(?:apiVersion|kind|metadata|spec|status|data)\b/.test(steps) ? `.object.${steps}` : path;
}

const example = "kubectl knfleet get pods -A";

/** `KIND[,KIND...] [NAME...]` or `KIND/NAME...`, as kubectl reads them. Throws UsageError. */
function objectsOf(args: readonly string[]): readonly WantedObjects[] {
  if (args.some((arg) => arg.includes("/"))) {
    // One list for each kind, however many of its objects are named.
    return [...Map.groupBy(args.map(objectNamed), ({ kind }) => kind)].map(([kind, all]) => ({
      kinds: [kind],
      names: all.map(({ name }) => name),
    }));
  }
  const [first = "", ...names] = args;
  const kinds = first.split(",").filter((word) => word !== "");
  if (kinds.length > 0) return [{ kinds, names }];
  throw new UsageError("There is nothing to get: name a kind", [example]);
}

function objectNamed(arg: string): { readonly kind: string; readonly name: string } {
  const [kind = "", name = "", ...rest] = arg.split("/");
  if (kind !== "" && name !== "" && rest.length === 0) return { kind, name };
  throw new UsageError(`"${arg}" is no object: write KIND NAME, or only KIND/NAME`, [example]);
}

function tableOf(
  { namespaced, columns, rows }: ObjectBlock,
  isWide: boolean,
  showLabels: boolean,
): Table {
  const shown = columns.flatMap(({ name, priority }, at) =>
    priority === 0 || isWide ? [{ name, at }] : [],
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

interface Found extends ClusterObjects {
  readonly cluster: string | null;
}

function blocksOf(facts: readonly Found[]): readonly ObjectBlock[] {
  const tables = facts
    .toSorted(byText(({ cluster }) => cluster ?? ""))
    .flatMap(({ cluster, tables: own }) => own.map((table) => ({ cluster, ...table })))
    .filter(({ rows }) => rows.length > 0);
  const groups = Map.groupBy(tables, ({ kind, columns }) =>
    JSON.stringify([kind.group, kind.plural, columns]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { kind, columns } = first;
    const type =
      kind.group === ""
        ? singular(kind.words, kind.plural)
        : `${singular(kind.words, kind.plural)}.${kind.group}`;
    const rows = group.flatMap(({ cluster, rows: own }) =>
      own.map(({ cells, object }) => ({ cluster, cells, object: withoutSecretValues(object) })),
    );
    return [{ type, namespaced: kind.namespaced, columns, rows }];
  });
}

function singular([, word]: readonly string[], plural: string): string {
  return word ?? plural;
}

/** The object; a Secret with the names of its keys only. */
function withoutSecretValues(object: ObjectItem["object"]): ObjectItem["object"] {
  if (object["kind"] !== "Secret") return object;
  const { data, stringData: _, ...rest } = object;
  const keys = Object.keys(isRecord(data) ? data : {});
  return { ...rest, data: Object.fromEntries(keys.map((key) => [key, "<hidden>"])) };
}

function unknownText(word: string): string {
  const said = `the server doesn't have a resource type "${word}"`;
  const isSet = fleetSetKindOf(word) !== undefined;
  return isSet ? `${said}: fleet sets are on the hub, see kubectl get ${word}` : said;
}

/** Errors for kinds and names that none of the clusters has; none when no cluster was read. */
function missing({ objects }: Wanted, facts: readonly Found[]): readonly ReportError[] {
  if (facts.length === 0) return [];
  const words = objects.flatMap(({ kinds }) => kinds);
  const isUnknown = (word: string): boolean => facts.every(({ unknown }) => unknown.includes(word));
  return [
    ...words.filter(isUnknown).map((word) => nowhere("NotServed", unknownText(word))),
    ...objects.flatMap(({ kinds, names }, at) =>
      names
        .filter((name) => !kinds.every(isUnknown) && !facts.some((one) => one.names[at]?.has(name)))
        .map((name) => nowhere("NotFound", `${kinds.join(",")} "${name}" not found`)),
    ),
  ];
}

function nowhere(reason: "NotServed" | "NotFound", message: string): ReportError {
  return { reason, message, cluster: null };
}
