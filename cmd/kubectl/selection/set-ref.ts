import { type FleetSetKind, fleetSetKinds } from "../../../api/fleet-set.ts";
import { UsageError } from "../errors.ts";

/** A set that was named, such as `kss/prod`. */
export interface FleetSetRef {
  readonly kind: FleetSetKind;
  readonly name: string;
}

export const allSetKinds: readonly FleetSetKind[] = ["KnativeServingSet", "KnativeEventingSet"];

const example = "Write TYPE/NAME, such as kss/prod.";

/** A name as Kubernetes allows it, so that it can be part of a path as it is. */
const namePattern = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** The kind of set that a type names, as kubectl does: kind, plural or short name, with or without the group. Undefined: no kind of set. */
export function fleetSetKindOf(type: string): FleetSetKind | undefined {
  const plain = type.toLowerCase().replace(/(?:\.v1alpha1)?\.knfleet\.dev$/, "");
  return allSetKinds.find((kind) =>
    [kind.toLowerCase(), fleetSetKinds[kind].plural, fleetSetKinds[kind].shortName].includes(plain),
  );
}

/** The set that an argument names as `TYPE/NAME`; undefined when the type is no kind of set. Throws UsageError for a name that is none. */
export function fleetSetRefOf(text: string): FleetSetRef | undefined {
  const [type = "", ...rest] = text.split("/");
  const kind = fleetSetKindOf(type);
  if (kind === undefined || rest.length === 0) return undefined;
  const name = rest.join("/");
  if (namePattern.test(name)) return { kind, name };
  throw new UsageError(`"${text}" is not TYPE/NAME`, [example]);
}

/** How kubectl writes a set that was named: `knativeservingsets.knfleet.dev "prod"`. */
export function setTitle({ kind, name }: FleetSetRef): string {
  return `${fleetSetKinds[kind].plural}.knfleet.dev "${name}"`;
}
