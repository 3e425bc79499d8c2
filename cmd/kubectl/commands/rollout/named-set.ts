import { type FleetSet, fleetSetKinds } from "../../../../api/fleet-set.ts";
import { type ActionInput, printFailedReport } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { readSet } from "../../hub/fleet-sets.ts";
import { commandsOf, renderFailure, withHubSteps } from "../../output/steps.ts";
import { fleetSetKindOf, fleetSetRefOf, setTitle } from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { PlacedSet } from "./rollout-steps.ts";

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

/** Reads the set that the arguments name. When it does not exist, prints that and returns the exit code. `kind` is the kind of the command's documents. */
export async function namedSet(
  input: ActionInput<unknown>,
  { access, kind }: { readonly access: ClusterAccess; readonly kind?: string },
  signal: AbortSignal,
): Promise<FleetSet | ExitCode> {
  const { args, flags, terminal } = input;
  const ref = setRefOf(args, flags, access);
  const set = await readSet(access, ref, signal);
  if (set !== undefined) return set;
  const message = `${setTitle(ref)} not found in namespace ${ref.namespace}`;
  const next = [`kubectl get ${fleetSetKinds[ref.kind].plural}.knfleet.dev -A`];
  const failure = withHubSteps({ error: message, causes: [], next }, commandsOf(flags));
  terminal.stderr.write(renderFailure(failure));
  if (kind !== undefined) await printFailedReport({ kind, reason: "NotFound", message }, input);
  return exitCodes.unhealthy;
}
