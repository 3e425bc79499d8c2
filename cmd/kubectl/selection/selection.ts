import { allKinds, type ComponentKind, componentKinds } from "../../../api/component.ts";
import { UsageError } from "../errors.ts";
import { shortKinds } from "../output/names.ts";
import { fleetSetKindOf } from "./set-ref.ts";

/** One installation that the command line names. Without a kind, either kind matches. */
export interface RequestedName {
  readonly kind?: ComponentKind;
  /** Absent: the namespace of the selection. */
  readonly namespace?: string;
  readonly name: string;
}

/** Which installations of the hub a command selects. */
export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** Glob for the names of ClusterProfiles. */
  readonly cluster?: string;
  /** Selector for labels and properties of ClusterProfiles. */
  readonly on?: string;
  /** Only installations that are not healthy. */
  readonly failed?: boolean;
  /** Only installations with this reason, in any letter case. */
  readonly reason?: string;
  readonly kinds: readonly ComponentKind[];
  /** Empty: all of `kinds`. */
  readonly names: readonly RequestedName[];
}

/**
 * Parses the arguments of a command as kubectl does: `ks/NAME …`, `ks` and `ks NAME …`. Also parses `NAME …` alone, which matches both kinds. Throws
 * UsageError for a type that is neither KnativeServing nor KnativeEventing.
 */
export function readNames(args: readonly string[]): Pick<Selection, "kinds" | "names"> {
  const [first, ...rest] = args;
  if (first === undefined) return { kinds: allKinds, names: [] };
  const kinds = first.includes("/") ? undefined : kindsOf(first);
  if (kinds === undefined) {
    const names = args.map(parseName);
    return { kinds: allKinds.filter((kind) => names.some((name) => isOfKind(name, kind))), names };
  }
  const slashed = rest.find((name) => name.includes("/"));
  if (slashed !== undefined) {
    throw new UsageError(`There is no need to name a type twice: "${first} ${slashed}"`, [
      `Write ${slashed} alone.`,
    ]);
  }
  return { kinds, names: rest.flatMap((name) => kinds.map((kind) => ({ kind, name }))) };
}

function parseName(arg: string): RequestedName {
  const [type, name, ...more] = arg.split("/");
  if (name === undefined) return { name: arg };
  const kind = kindOf(type ?? "");
  if (kind === undefined) throw unknownType(type ?? "");
  if (name === "" || more.length > 0) {
    throw new UsageError(`"${arg}" is not TYPE/NAME`, [
      "Write TYPE/NAME, such as ks/knative-serving.",
    ]);
  }
  return { kind, name };
}

function unknownType(type: string): UsageError {
  const message = `There is no type "${type}": use KnativeServing (ks) or KnativeEventing (ke)`;
  if (fleetSetKindOf(type) !== undefined) {
    const set = `${type.toLowerCase()}/NAME`;
    return new UsageError(message, [
      `Installations of a fleet set are selected by status --set ${set}; rollout status ${set} shows the set.`,
    ]);
  }
  return new UsageError(message, ["Write TYPE/NAME, such as ks/knative-serving."]);
}

/** Kinds of a comma list such as `ks,ke`. Undefined when the text is a name instead of types. */
function kindsOf(list: string): readonly ComponentKind[] | undefined {
  const kinds = list.split(",").map(kindOf);
  if (!list.includes(",")) return kinds[0] === undefined ? undefined : [kinds[0]];
  return kinds.map((kind, at) => {
    if (kind === undefined) throw unknownType(list.split(",")[at] ?? "");
    return kind;
  });
}

function kindOf(type: string): ComponentKind | undefined {
  const plain = type.toLowerCase().replace(/(?:\.v1beta1)?\.operator\.knative\.dev$/, "");
  return allKinds.find((kind) =>
    [kind.toLowerCase(), componentKinds[kind].plural, shortKinds[kind]].includes(plain),
  );
}

function isOfKind(requested: RequestedName, kind: ComponentKind): boolean {
  return requested.kind === undefined || requested.kind === kind;
}

function isIn(requested: RequestedName, namespace: string | undefined): boolean {
  const own = requested.namespace;
  return own === undefined || own === (namespace ?? own);
}

/** Whether the selection has an installation. */
export function isSelected(
  selection: Selection,
  key: { readonly kind: ComponentKind; readonly name: string; readonly namespace?: string },
): boolean {
  if (!selection.kinds.includes(key.kind)) return false;
  if (selection.names.length === 0) return true;
  return selection.names.some(
    (requested) =>
      requested.name === key.name &&
      isOfKind(requested, key.kind) &&
      isIn(requested, key.namespace),
  );
}

/** The requested names that no installation has, written as `knativeservings.operator.knative.dev "NAME"`. */
export function missingNames(
  selection: Selection,
  found: readonly {
    readonly kind: ComponentKind;
    readonly namespace?: string;
    readonly name: string;
  }[],
): readonly string[] {
  return selection.names
    .filter(
      (requested) =>
        !found.some(
          (key) =>
            key.name === requested.name &&
            isOfKind(requested, key.kind) &&
            isIn(requested, key.namespace),
        ),
    )
    .map(({ kind, name }) => {
      const type =
        kind === undefined ? "installation" : `${componentKinds[kind].plural}.operator.knative.dev`;
      return `${type} "${name}"`;
    });
}
