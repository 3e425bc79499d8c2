import { Follower } from "../../access/time/deadline.ts";
import type { Component } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { FleetError } from "../../api/errors.ts";
import { setLabels } from "../../api/fleet-set.ts";
import { objectId } from "../../api/keys.ts";
import { keyOf, type Manifest, type ObjectKey } from "../../api/kubernetes.ts";
import { contestedCondition } from "../../api/reasons.ts";
import { isHandedBack } from "../../installation/predecessor.ts";
import { isUnwanted } from "../../installation/strays.ts";
import type { Rendered } from "../../render/release/releases.ts";
import type { ChangeSet } from "../apply/change-set.ts";
import { untilSureMs } from "../apply/filters/conflicts.ts";
import type { InstallDeps } from "../apply/install-attempt.ts";
import { entryOf, hasInventory, withReportedConflicts } from "../apply/install-state.ts";
import { untilDueMs } from "../apply/unblock.ts";
import { hasFinalizer, clusterNameOf } from "../component-identity.ts";
import type { NewEvent } from "../events.ts";
import { gateOf } from "../guard/guards.ts";
import { lastingLogFieldsOf, logFieldsOf, type Log } from "../log.ts";
import { type JobFindings, type JobQuestion, takeUntold } from "../observe/failed-jobs.ts";
import type { ObservedChange } from "../observe/observation.ts";
import { observe } from "../observe/observe.ts";
import { type VisibleReadiness, readVisibleReadiness } from "../observe/visible-readiness.ts";
import type { Next } from "../queue/delays.ts";
import {
  adoptedEvent,
  anchorLostEvent,
  failedJobsEvent,
  repairEvent,
  takenOverEvent,
  webhookUnblockedEvent,
} from "../status/component-events.ts";
import { fleetErrorOf, asLoss, type Outcome, type Steps } from "../status/outcome.ts";
import type { TargetConnection } from "../target/target-connection.ts";
import type { Target } from "../target/target.ts";
import { assertOnlyOne, assertPermitted, isHeldBack } from "./claims.ts";
import { installOrTakeOver, letGo, type TakeOverDeps } from "./hand-over.ts";
import { hold, NotHeld, wasWritten, whileHeld } from "./hold.ts";
import type { Installation, View } from "./installation.ts";
import type { Newcomer } from "./neighbours.ts";
import { prepare, type PreparedInstall, type Writable } from "./prepare.ts";
import type { Attempt, ReconcileDeps, Subject } from "./reconcile-deps.ts";
import { conclude } from "./report.ts";
import { stopManaging, connectionHistoryOf } from "./resolve.ts";

/**
 * One attempt: brings the target of a component to its desired state and writes the outcome to the status. Sends nothing when nothing differs. Rejects with the reason of the
 * signal, and with the error of the hub when the status cannot be written. A component that is being deleted has another way; see uninstall.ts.
 */
export function reconcile(
  attempt: Attempt,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Next> {
  const { component } = attempt;
  return whileHeld(async () => {
    const ended = await installComponent(attempt, deps, signal);
    const outcome = { ...ended, protection: deps.guards.protectionOf(component) };
    return conclude({ ...attempt, outcome }, deps, signal);
  });
}

async function installComponent(
  attempt: Attempt,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const steps: Writable<Steps> = { eligible: false, resolved: false };
  const { component } = attempt;
  using preparing = new Follower(signal);
  try {
    // Put a lost finalizer back before connecting: the cluster may be unreachable, and the component must not go without its installation.
    if (wasWritten(attempt) && !isHeldBack(component, deps)) await hold(attempt, deps, signal);
    // Before all requests to it: without permission the component must learn nothing about its cluster.
    assertPermitted(component, deps);
    assertOnlyOne(component, deps);
    if (isHandedBack(component)) await letGo(attempt, deps, signal);
    writeFirstConditions(attempt, signal);
    const prepared = await prepare(attempt, { deps, steps }, preparing.signal);
    return await apply(attempt, { ...prepared, deps }, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotHeld) throw error;
    // The connection was replaced during the attempt. The next attempt has the new one, so nothing is reported.
    if (error instanceof FleetError && error.reason === "RemoteClusterStale") {
      return { kind: "working", steps };
    }
    const cause = fleetErrorOf(error, clusterNameOf(component));
    const failure = asLoss(cause, connectionHistoryOf(attempt, deps));
    const refused = [failure, steps.obstacle].some(
      (one) => one?.reason === "ReferenceNotPermitted",
    );
    if (refused) await stopManaging(attempt, deps);
    // What was kept of the cluster is given back. A connection that is opened later lists everything again.
    if (failure.code === "TooLarge") await attempt.installation.closeView();
    return { kind: "failed", steps, error: failure };
  } finally {
    // What is still being asked may claim nothing any more.
    preparing.abort();
    deps.neighbours.forget(component);
  }
}

/** Gives a new component its first conditions. */
export function writeFirstConditions({ component, writer }: Attempt, signal: AbortSignal): void {
  if (component.status?.conditions !== undefined) return;
  const steps = { eligible: false, resolved: false };
  writer.reportProgress({ kind: "working", steps }, signal);
}

async function apply(
  { component, installation, writer }: Attempt,
  prepared: PreparedInstall & { readonly deps: ReconcileDeps },
  signal: AbortSignal,
): Promise<Outcome> {
  const { rendered, resolved, beforeFirstWrite, content, deps } = prepared;
  const { target, connection } = resolved;
  const isNew = !hasFinalizer(component);
  const log = deps.log.child(logFieldsOf({ component, installation }));
  // Not awaited: no work depends on the Event, and it never rejects.
  const recordEvent = (event: NewEvent): void =>
    void deps.events.record(writer.latest, event, signal);
  const view = await openView({ component, installation }, connection, deps);
  const { version, manifests, unusedConfig } = rendered;
  const { isHeld } = content;
  const isOurs = (one: Manifest): boolean => isInstalled(keyOf(one), view, isHeld);
  const attempted = `${component.metadata.generation} ${version}`;
  // The progress of a retry is not written.
  const isRetry = installation.wasInstalledAs(attempted);
  const showsProgress = !isHeld && !isRetry && isNewContent(component, rendered);
  using install = new Follower(signal, connection.signal);
  const changes = await installOrTakeOver(
    { component, rendered, target, ...view, isNew, isHeld },
    {
      ...deps,
      log,
      beforeFirstWrite,
      ...neighbourQuestions(
        { component, ...resolved, manifests: () => manifests.filter(isOurs) },
        deps,
      ),
      pendingChanges: installation.pendingChanges,
      onProgress: (progress) => {
        const steps = { eligible: true, resolved: true };
        const protection = deps.guards.protectionOf(component);
        const outcome = { kind: "working", steps, version, progress, protection } as const;
        if (showsProgress) writer.reportProgress(outcome, signal);
      },
      gate: gateOf(component, {
        target,
        signal: connection.signal,
        beforeFirstWrite,
        isNew,
        ...deps,
      }),
      ...installEvents(clusterNameOf(component), recordEvent),
    },
    install.signal,
  );
  installation.noteInstalled(attempted);
  noteChanges(changes, { log, installation, recordEvent }, deps);
  const said = messageOf(component, "InstallSucceeded");
  const from = { client: target.client, clock: deps.clock, toldJobs: installation.told.jobs };
  const question = { ...view, ...from, log, said, recordEvent };
  const health = await readHealth(manifests.filter(isOurs).map(keyOf), question, signal);
  const waits = waitsOf(view, deps.clock.now());
  const installed = installedFacts(component, prepared);
  return { kind: "applied", ...installed, changes, ...health, ...waits, unusedConfig };
}

/** What the next attempt must not be late for. */
function waitsOf({ memory }: View, now: number) {
  const { conflicts, blockades } = memory.state;
  return { unsureMs: untilSureMs(conflicts, now), unblockMs: untilDueMs(blockades, now) };
}

/** Whether an object is part of an installation: not left to another component, nor kept out until the set stamps the component. */
function isInstalled(key: ObjectKey, { memory }: View, isHeld: boolean): boolean {
  const id = objectId(key);
  const { state } = memory;
  if (state.left.has(id)) return false;
  return !isHeld || !hasInventory(state) || entryOf(state, id) !== undefined;
}

/** What the status says of an installation: of one that keeps what it has, what it said before. */
function installedFacts(
  { metadata, status }: Component,
  { rendered: { version, paths }, content: { isHeld, installed } }: PreparedInstall,
) {
  if (!isHeld)
    return { version, paths, ...(installed === undefined ? {} : { content: installed }) };
  const stage = metadata.labels?.[setLabels.stage] ?? "";
  return {
    version: status?.version ?? version,
    paths: status?.manifests ?? paths,
    waitsForStage: stage,
  };
}

/** Records the Events about what an install met on its cluster. */
function installEvents(cluster: string, record: (event: NewEvent) => void) {
  return {
    onAdopted: (count) => record(adoptedEvent(count, cluster)),
    onTakenOver: (count) => record(takenOverEvent(count, cluster)),
    onAnchorLost: () => record(anchorLostEvent(cluster)),
    onUnblocked: (unblocked) => record(webhookUnblockedEvent(unblocked)),
  } satisfies Partial<TakeOverDeps>;
}

interface HealthQuestion
  extends View, Omit<JobQuestion, "observed" | "client">, Pick<Target, "client"> {
  readonly recordEvent: (event: NewEvent) => void;
  readonly toldJobs: Set<string>;
}

type Health = Omit<JobFindings, "failures"> & { readonly readiness: VisibleReadiness };

/** Reads the state of the workloads and Jobs of an installation. Records an Event for Jobs whose failure is new. */
async function readHealth(
  desired: readonly ObjectKey[],
  { recordEvent, toldJobs, ...question }: HealthQuestion,
  signal: AbortSignal,
): Promise<Health> {
  const observed = question.observation.objects();
  const [readiness, { failures, ...jobs }] = await Promise.all([
    readVisibleReadiness(desired, question, signal),
    question.jobs.findFailed(desired, { ...question, observed }, signal),
  ]);
  const failure = failedJobsEvent(takeUntold(failures, { told: toldJobs, said: question.said }));
  if (failure !== undefined) recordEvent(failure);
  return { readiness, ...jobs };
}

/** The message of a condition of the status; empty without one. */
function messageOf({ status }: Component, type: string): string {
  return conditionOf(status?.conditions, type)?.message ?? "";
}

/** Opens the watches of the target of a component, unless they are open. */
async function openView(
  { component, installation }: Subject,
  { client, watches }: TargetConnection,
  deps: ReconcileDeps,
): Promise<View> {
  const onChange = (change: ObservedChange): void => deps.onChange(component, change);
  const componentUid = component.metadata.uid;
  const view = await installation.viewOver(client, (memory) => {
    const log = deps.log.child(lastingLogFieldsOf(component));
    return observe({
      client,
      clock: deps.clock,
      watches,
      componentUid,
      onChange,
      isUnwanted: (key) => isUnwanted(key, { component, wanted: memory.state.desired }),
      log,
    });
  });
  const reported = messageOf(component, contestedCondition);
  view.memory.become((state) => withReportedConflicts(state, reported, deps.clock.now()));
  return view;
}

/** Questions about the other anchors on the target. `manifests` is without the shared objects that are left to others: they must not stop a component that lost its anchor. */
function neighbourQuestions(
  {
    manifests,
    ...installation
  }: Omit<Newcomer, "manifests"> & { readonly manifests: () => readonly Manifest[] },
  { neighbours, components }: ReconcileDeps,
): Pick<InstallDeps, "assertFirst" | "holders"> {
  const all = (): Iterable<Component> => components.all();
  return {
    assertFirst: (making, signal) =>
      neighbours.assertFirst({ ...installation, manifests: manifests() }, { making, all }, signal),
    holders: (question, signal) => neighbours.holders(installation, { ...question, all }, signal),
  };
}

/** Whether a new version or specification is applied, and not a repair or a retry. Progress must not replace a failure in the status. */
function isNewContent({ status, metadata }: Component, { version }: Rendered): boolean {
  if (status?.observedGeneration !== metadata.generation) return true;
  const installed = conditionOf(status?.conditions, "InstallSucceeded")?.status;
  if (installed === "False") return false;
  return installed !== "True" || status?.version !== version;
}

/** Counts and logs what an attempt changed, tells of repairs, and paces the next ones. */
function noteChanges(
  changes: ChangeSet,
  {
    log,
    installation,
    recordEvent,
  }: {
    readonly log: Log;
    readonly installation: Installation;
    readonly recordEvent: (event: NewEvent) => void;
  },
  { clock, metrics }: ReconcileDeps,
): void {
  installation.repairPace.noteSent(clock.now(), changes.applied.length);
  const repairs = repairEvent(changes);
  if (repairs !== undefined) recordEvent(repairs);
  const { applied, repaired, unchanged, parked, failed, pruned } = changes;
  const counts = {
    applied: applied.length,
    parked: parked.length,
    failed: failed.length,
    pruned: pruned.length,
  };
  metrics.countObjects(counts);
  metrics.countRepairs(repaired.map(({ kind }) => kind));
  const isQuiet = [...Object.values(counts), repaired.length].every((count) => count === 0);
  if (!isQuiet) log.info({ ...counts, repaired: repaired.length, unchanged }, "Applied manifests");
}
