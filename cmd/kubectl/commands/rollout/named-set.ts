import { type FleetSet, fleetSetKinds } from "../../../../api/fleet-set.ts";
import { UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { readSet } from "../../hub/fleet-sets.ts";
import type { PlacedSet } from "../../hub/rollout-steps.ts";
import type { Answer } from "../../main/report.ts";
import { fleetSetKindOf, fleetSetRefOf, setTitle } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";

const examples = ["Write TYPE/NAME: kss/prod for Knative Serving, kes/prod for Knative Eventing."];

/** The set that the arguments name, as `kss/prod` or `kss prod`. Throws UsageError unless they name exactly one. */
function setRefOf(
  args: readonly string[],
  { namespace }: Pick<Flags, "namespace">,
  access: Pick<ClusterAccess, "namespace">,
): PlacedSet {
  const [first, second, ...more] = args;
  if (first === undefined) throw new UsageError("Name a set", examples);
  const isTwoWords = second !== undefined && fleetSetKindOf(first) !== undefined;
  if (more.length > 0 || (second !== undefined && !isTwoWords)) {
    throw new UsageError("Name one set, not several", examples);
  }
  const text = isTwoWords ? `${first}/${second}` : first;
  const ref = fleetSetRefOf(text);
  if (ref === undefined) throw new UsageError(`"${text}" is no set`, examples);
  if (namespace === undefined) {
    throw new UsageError("A set cannot be named in all namespaces", [
      "Name its namespace with -n.",
    ]);
  }
  return { ...ref, namespace: namespace ?? access.namespace };
}

/** The kind, namespace and name of a set. */
export function placedSetOf({ kind, metadata: { namespace, name } }: FleetSet): PlacedSet {
  return { kind, namespace, name };
}

interface FoundSet {
  /** Undefined: it does not exist. */
  readonly set: FleetSet | undefined;
  /** That it does not exist. */
  readonly message: string;
  /** Lists the sets that exist. */
  readonly next: string;
}

/** Reads the set that the arguments name. Throws UsageError, and when the hub cannot be read. */
export async function findSet(
  { args, flags }: Pick<Fleet, "args" | "flags">,
  access: ClusterAccess,
  signal: AbortSignal,
): Promise<FoundSet> {
  const ref = setRefOf(args, flags, access);
  return {
    set: await readSet(access, ref, signal),
    message: `${setTitle(ref)} not found in namespace ${ref.namespace}`,
    next: `kubectl get ${fleetSetKinds[ref.kind].plural}.knfleet.dev -A`,
  };
}

/** Reads the set that the arguments name, or the answer that there is none. Throws as `findSet` does. */
export async function namedSet(fleet: Fleet): Promise<FleetSet | Answer> {
  const { set, message, next } = await findSet(fleet, await fleet.access(), fleet.signal);
  if (set !== undefined) return set;
  return { failures: [{ reason: "NotFound", error: message, next: [next] }] };
}
