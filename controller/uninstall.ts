import { clusterNameOf } from "./cluster-name.ts";
import { olderTwinOf } from "./duplicate.ts";
import { fleetErrorOf, lossOf } from "./failure.ts";
import { finalize } from "./finalize.ts";
import { hasFinalizer, removeFinalizer } from "./finalizer.ts";
import type { Next } from "./queue.ts";
import type { ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { conclude, logFieldsOf, openReport } from "./report.ts";
import { acquaintanceWith, resolveTarget } from "./resolve.ts";

/**
 * Removes the installation of a component that is being deleted, verifies that, and only then lets the component go. A target that
 * cannot be reached keeps the component, with a condition that says why.
 */
export async function uninstall(
  subject: Subject,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Next> {
  const { component, installation } = subject;
  if (!hasFinalizer(component)) return { kind: "done" };
  const steps = { eligible: false, resolved: false };
  try {
    // A duplicate never touched the cluster, and must not touch the other's things now.
    if (olderTwinOf(component, deps.components.all()) === undefined) {
      const { target, connection } = await resolveTarget(component, deps, signal);
      steps.resolved = true;
      installation.wasReached = true;
      await installation.closeView();
      const log = deps.log.child(logFieldsOf(component));
      const either = AbortSignal.any([signal, connection.signal]);
      const { removed } = await finalize({ component, target }, { log, clock: deps.clock }, either);
      const message = `Removed ${removed} objects from ${clusterNameOf(component)}`;
      await deps.events.record(component, { type: "Normal", reason: "Removed", message }, signal);
    }
    await removeFinalizer(component, deps.hub, signal);
    return { kind: "done" };
  } catch (error) {
    signal.throwIfAborted();
    const report = openReport(subject, deps);
    const failure = lossOf(
      fleetErrorOf(error, clusterNameOf(component)),
      acquaintanceWith(subject, deps),
    );
    return conclude(
      { ...subject, report, outcome: { kind: "failed", steps, error: failure } },
      deps,
      signal,
    );
  }
}
