import { type FleetSet, fleetSetKinds } from "../../../../api/fleet-set.ts";
import { type ActionInput, printFailedReport } from "../../action.ts";
import { type ExitCode, exitCodes, UsageError } from "../../errors.ts";
import type { Flags } from "../../flags.ts";
import { readSet } from "../../hub/fleet-sets.ts";
import { commandsOf, renderFailure, withHubSteps, words } from "../../output/steps.ts";
import {
  fleetSetKindOf,
  type FleetSetRef,
  fleetSetRefOf,
  setTitle,
} from "../../selection/set-ref.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";

/** A set that was named, and where. */
export type PlacedSet = FleetSetRef & { readonly namespace: string };

const examples = ["Write TYPE/NAME: kss/prod for Knative Serving, kes/prod for Knative Eventing."];

/** The one set that the arguments name, `kss/prod` or `kss prod`. Throws UsageError. */
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

/** How commands name a set: `kss/prod`. */
function setArgument({ kind, name }: FleetSetRef): string {
  return `${fleetSetKinds[kind].shortName}/${name}`;
}

/** A set by what it is called. */
export function placedSetOf({ kind, metadata: { namespace, name } }: FleetSet): PlacedSet {
  return { kind, namespace, name };
}

/** A command about a set that can be pasted. */
export function rolloutCommand(verb: string, set: PlacedSet, ...more: readonly string[]): string {
  return words(
    "kubectl",
    "knfleet",
    "rollout",
    verb,
    setArgument(set),
    "-n",
    set.namespace,
    ...more,
  );
}

/** The set that the arguments name; when it does not exist that is told, and the result is the exit code. `kind` is that of the command's documents. */
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
