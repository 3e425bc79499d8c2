import type { ClusterProfileRef, ComponentKind } from "../../../../api/component.ts";
import { plainText } from "../../../../api/foreign-text.ts";
import { nameId } from "../../../../api/keys.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { yamlOfObject } from "../../compare/objects-text.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { clusterNames } from "../../output/names.ts";
import { stepLine, words } from "../../output/steps.ts";
import type { Cell, Table } from "../../output/table.ts";
import type { Reviewed } from "../../rights/access-review.ts";
import { inOrder, resourceName } from "../../rights/permissions.ts";

/** The needed rights on one cluster, and which of them the identity has. */
export interface PermissionItem {
  /** The ClusterProfile of the cluster; null for the hub itself. */
  readonly cluster: ClusterProfileRef | null;
  /** User name of the identity, as the cluster returns it. */
  readonly user: string;
  /** What the rights are for. */
  readonly installations: readonly InstallationAt[];
  readonly permissions: readonly Reviewed[];
  /** Number of verbs that are needed, and of those that are missing. */
  readonly needed: number;
  readonly missing: number;
  /** A ClusterRole with what is missing, and its binding; empty when nothing is. */
  readonly missingRole: readonly Manifest[];
}

/** A component at a version. */
export interface InstallationAt {
  readonly kind: ComponentKind;
  /** Null where there is no installation yet. */
  readonly namespace: string | null;
  readonly name: string | null;
  readonly version: string;
}

/** Clusters by resources: what is missing, and one row for a cluster that lacks nothing; in wide output every resource. */
export function permissionTable(items: readonly PermissionItem[], wide: boolean): Table {
  const nameOf = clusterNames(items.map(({ cluster }) => cluster));
  const shown = items.map((item) => ({ item, rows: wide ? item.permissions : lackingOf(item) }));
  const verbs = inOrder([
    ...new Set(
      shown.flatMap(({ item, rows }) =>
        (rows.length === 0 ? item.permissions : rows).flatMap(verbsOf),
      ),
    ),
  ]);
  return {
    headers: ["CLUSTER", "RESOURCE", "FOR", ...verbs.map((verb) => verb.toUpperCase())],
    mayShorten: ["RESOURCE"],
    rows: shown.flatMap(({ item, rows }): Cell[][] => {
      const cluster = nameOf(item.cluster);
      if (rows.length === 0) {
        const text = `all ${item.permissions.length} resources`;
        return [[cluster, text, "<all>", ...verbs.map(() => yes)]];
      }
      return rows.map((row) => [
        cluster,
        resourceName(row),
        row.purpose,
        ...verbs.map((verb) => cellOf(verb, row)),
      ]);
    }),
  };
}

type Row = PermissionItem["permissions"][number];

const yes: Cell = { text: "yes", tone: "good" };

function cellOf(verb: string, { allowed, missing }: Row): Cell {
  if (missing.includes(verb)) return { text: "no", tone: "bad" };
  return allowed.includes(verb) ? yes : "-";
}

function lackingOf({ permissions }: PermissionItem): readonly Row[] {
  return permissions.filter(({ missing }) => missing.length > 0);
}

function verbsOf({ allowed, missing }: Row): readonly string[] {
  return [...allowed, ...missing];
}

/** Lines below the table: missing rights for each identity, and how to grant them. */
export function permissionNotes(
  items: readonly PermissionItem[],
  { args, commands: { knfleet, kubectl } }: Pick<Fleet, "args" | "commands">,
  version: string | undefined,
): readonly string[] {
  const lacking = items.filter(({ missing }) => missing > 0);
  const flags = version === undefined ? [] : ["--version", version];
  const [only] = lacking.length === 1 ? lacking : [];
  const named = only?.cluster ?? null;
  const who = named === null ? args : [nameId(named)];
  const line = `${knfleet} ${words("can-i", ...who, ...flags, "-o", "clusterrole")}`;
  // Only an administrator of the cluster itself can grant rights there.
  const step =
    only?.cluster === null
      ? `${line} | ${kubectl} apply -f -`
      : `To grant it, with a context of the cluster's administrator in place of SPOKE: ${line} | kubectl --context SPOKE apply -f -`;
  return [
    ...items.map(itemLine),
    ...(lacking.length === 0 ? [] : [stepLine(step)]),
    ...hubNotes(items),
  ];
}

/** On the hub the check is about the user of this command, while the controller needs the rights. */
function hubNotes(items: readonly PermissionItem[]): readonly string[] {
  const hub = items.find(({ cluster }) => cluster === null);
  if (hub === undefined || hub.user.startsWith("system:serviceaccount:")) return [];
  return [
    "The hub was asked about you; --as system:serviceaccount:NAMESPACE:NAME asks about the controller.",
  ];
}

function itemLine({ cluster, user, installations, needed, missing }: PermissionItem): string {
  const where = cluster === null ? "<hub>" : nameId(cluster);
  const what = installations.map(({ kind, version }) => `${kind} ${version}`);
  const how = missing === 0 ? `has all ${needed} rights` : `lacks ${missing} of ${needed} rights`;
  return plainText(`${where}: ${user} ${how} for ${[...new Set(what)].join(" and ")}`);
}

/** The roles with missing rights as YAML documents. Equal roles are printed once, with the clusters that need them. */
export function missingRoleText(items: readonly PermissionItem[]): string {
  const lacking = items.filter(({ missing }) => missing > 0);
  const same = Map.groupBy(lacking, ({ missingRole }) => missingRole[0]?.metadata.name ?? "");
  const documents = [...same.values()].flatMap((all) => {
    const [first] = all;
    if (first === undefined) return [];
    const where = all.map(({ cluster }) => (cluster === null ? "the hub" : nameId(cluster)));
    const comment = plainText(`# Missing on ${where.join(", ")} for ${first.user}`);
    return [`${comment}\n${first.missingRole.map(yamlOfObject).join("---\n")}`];
  });
  return documents.join("---\n");
}
