import { WriteRefusedError } from "../../access/http/write-permit.ts";
import { isServerFailure } from "../../access/kube/api-error.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { FleetSet, FleetSetStatus } from "../../api/fleet-set.ts";
import { setId } from "../../api/keys.ts";
import type { Condition } from "../../api/kubernetes.ts";
import type { Verification } from "../../sets/check-answer.ts";
import { decide } from "../../sets/decide.ts";
import type { Decision, RevisionMark, SetFacts, Stamp } from "../../sets/facts.ts";
import type { History } from "../../sets/standing.ts";
import { refusedStatus } from "../../sets/status/set-status.ts";
import type { EventRecorder } from "../events.ts";
import type { Next } from "../queue/delays.ts";
import { notTakenEvents, obstacleOf, OwnWriteRefusedError } from "./refused-write.ts";
import { isWriteConflict, type NotTaken, sendAll } from "./send-writes.ts";
import { recordEvents, setEvents, stampEvents } from "./set-events.ts";
import type { ChildWriter } from "./write-children.ts";
import type { RevisionWriter } from "./write-revisions.ts";
import type { SetWriter } from "./write-set.ts";

export interface AdvanceDeps {
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, "record">;
  readonly sets: SetWriter;
  readonly revisions: RevisionWriter;
  readonly children: ChildWriter;
  /** The present facts of the hub about a set; undefined: the set is gone. */
  readonly factsOf: (key: string) => Promise<SetFacts | undefined>;
  /** The set as the hub has it now; undefined: it is gone. */
  readonly setOf: (key: string) => FleetSet | undefined;
  /** Keys of the sets whose wish to try again is on their revision already, while the hub does not let it be taken off the set. */
  readonly retried: Set<string>;
  /** The writes of a decision that the hub refused; empty when there are none. */
  readonly onNotTaken: (set: FleetSet, notTaken: NotTaken) => void;
  /** The memory for the next decision. */
  readonly onSeen: (set: FleetSet, history: History) => void;
  /** What is to be asked about the clusters of the set from now on. */
  readonly onVerifications: (set: FleetSet, verifications: readonly Verification[]) => void;
}

/** Each mark leads to another decision at once; more in a row than this would be a decision that never ends. */
const mostMarks = 10;
const stampsAtOnce = 16;
/** How soon to decide again when a set changed during the decision. */
const staleMs = 250;

/**
 * Gathers the facts of a set, decides, and writes: the marks of its revisions, its status, the stamped components, the leaving components, in this
 * order. After the end of this process, the next one decides about the missing writes again. Throws as the client does. What the hub refuses is told by Events, and in
 * the status where that can be written.
 */
export async function advanceSet(
  key: string,
  deps: AdvanceDeps,
  signal: AbortSignal,
): Promise<Next> {
  try {
    return await advance(key, deps, signal);
  } catch (error) {
    if (signal.aborted || error instanceof WriteRefusedError) return { kind: "done" };
    if (isWriteConflict(error)) return { kind: "after", ms: staleMs };
    if (!(error instanceof OwnWriteRefusedError)) throw error;
    await tellRefusal(key, error, deps, signal);
    throw error.refusal;
  }
}

/** By an Event, and by conditions where the rollout cannot go on without the refused write. */
async function tellRefusal(
  key: string,
  error: OwnWriteRefusedError,
  { events, setOf, sets, clock }: AdvanceDeps,
  signal: AbortSignal,
): Promise<void> {
  const set = setOf(key);
  if (set === undefined) return;
  const obstacle = obstacleOf(error);
  void events.record(set, { type: "Warning", ...obstacle }, signal);
  if (error.what !== "set" && error.what !== "revision of the set") return;
  // The words of a refusal may differ each time, and each status that is written would be a reason to try again.
  const isTold = ({ reason, message = "" }: Condition): boolean =>
    reason === obstacle.reason && message.startsWith(error.message);
  if (set.status?.conditions?.some(isTold) === true) return;
  const status = refusedStatus(set, obstacle, clock.date().getTime());
  try {
    await sets.report(set, status, signal);
  } catch (err) {
    // The Event is there, and the next look tells it again.
    if (!(err instanceof OwnWriteRefusedError) && !isServerFailure(err)) throw err;
  }
}

async function advance(key: string, deps: AdvanceDeps, signal: AbortSignal): Promise<Next> {
  for (let marks = 0; marks < mostMarks; marks += 1) {
    // oxlint-disable-next-line no-await-in-loop -- each mark leads to another decision
    const facts = await deps.factsOf(key);
    if (facts === undefined) return { kind: "done" };
    // oxlint-disable-next-line no-await-in-loop -- the next decision follows from this write
    const decision = await decideAbout(facts, deps, signal);
    if (decision === undefined) return { kind: "done" };
    if (decision.mark?.kind !== "retry") deps.retried.delete(key);
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (await record(key, { facts, decision }, deps, signal)) continue;
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (decision.mark === undefined) return write(facts, decision, deps, signal);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await writeMark(key, { facts, mark: decision.mark }, deps, signal);
  }
  throw new Error(`The decisions about ${key} never end`);
}

/** Writes a mark, and removes from the set what it settles. */
async function writeMark(
  key: string,
  { facts, mark }: { readonly facts: SetFacts; readonly mark: RevisionMark },
  deps: AdvanceDeps,
  signal: AbortSignal,
): Promise<void> {
  const { kind } = mark;
  // Before the mark: once a rollout has begun, its own approvals may be there.
  if (kind === "begin" || kind === "fail") await dropApprovals(key, kind, deps, signal);
  if (!deps.retried.has(key)) await deps.revisions.mark(facts, mark, signal);
  if (kind === "retry") {
    deps.retried.add(key);
    await deps.sets.dropRetry(facts.set, signal);
  }
  // Before the mark nothing else would know of the abort.
  if (kind === "fail") await dropAbort(key, deps, signal);
}

/** The set is read again, because the decision may have written it. An abort goes, too, with a beginning: it is of another rollout. */
async function dropApprovals(
  key: string,
  kind: "begin" | "fail",
  deps: AdvanceDeps,
  signal: AbortSignal,
): Promise<void> {
  const set = deps.setOf(key);
  if (set !== undefined) await deps.sets.dropApprovals(set, signal);
  if (kind === "begin") await dropAbort(key, deps, signal);
}

async function dropAbort(key: string, deps: AdvanceDeps, signal: AbortSignal): Promise<void> {
  const set = deps.setOf(key);
  if (set !== undefined) await deps.sets.dropAbort(set, signal);
}

/** Writes the new entries of the record of a revision, and removes the deeds from the set. Returns whether there were any: the set has changed then. */
async function record(
  key: string,
  { facts, decision }: { readonly facts: SetFacts; readonly decision: Decision },
  deps: AdvanceDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { records } = decision;
  if (records === undefined) return false;
  await deps.revisions.record(facts, records, signal);
  for (const event of recordEvents(records.entries)) {
    void deps.events.record(facts.set, event, signal);
  }
  // The deeds on a set whose revision only begins belong to that revision.
  const isNew = decision.mark?.kind === "begin";
  const set = isNew ? undefined : deps.setOf(key);
  if (set !== undefined) await deps.sets.dropDeeds(set, facts.set, signal);
  return true;
}

/** Undefined when a deleted set has nothing left to do. */
async function decideAbout(
  facts: SetFacts,
  { sets, clock }: AdvanceDeps,
  signal: AbortSignal,
): Promise<Decision | undefined> {
  const { set, children } = facts;
  if (set.metadata.deletionTimestamp === undefined) {
    const held = await sets.hold(set, signal);
    return decide({ ...facts, set: held }, clock.date().getTime());
  }
  if (children.length > 0) return decide(facts, clock.date().getTime());
  await sets.release(set, signal);
  return undefined;
}

/** Writes the status first, so that a stage that has begun is known to have begun, then the components. */
async function write(
  facts: SetFacts,
  decision: Decision,
  deps: AdvanceDeps,
  signal: AbortSignal,
): Promise<Next> {
  if (decision.history !== undefined) deps.onSeen(facts.set, decision.history);
  deps.onVerifications(facts.set, decision.verifications ?? []);
  const drops = decision.dropsAcceptance === true;
  const set = drops ? await deps.sets.dropAcceptance(facts.set, signal) : facts.set;
  await writeStatus(set, decision.status, deps, signal);
  const notTaken = await writeChildren(facts, decision, deps, signal);
  deps.onNotTaken(set, notTaken);
  for (const event of notTakenEvents(notTaken)) void deps.events.record(set, event, signal);
  const { refused, errors } = notTaken;
  if (refused.size + errors.length > 0) await tellAgain(setId(set), deps, signal);
  if (errors.length > 0) throw errors.find((error) => !isWriteConflict(error)) ?? errors[0];
  if (decision.status.rollout?.phase === "Complete") await deps.revisions.prune(facts, signal);
  const { nextDecisionAt } = decision;
  if (nextDecisionAt === undefined) return { kind: "change" };
  return { kind: "after", ms: nextDecisionAt - deps.clock.date().getTime() };
}

async function writeStatus(
  set: FleetSet,
  status: FleetSetStatus,
  deps: AdvanceDeps,
  signal: AbortSignal,
): Promise<void> {
  await deps.sets.report(set, status, signal);
  for (const event of setEvents(set.status, status)) void deps.events.record(set, event, signal);
}

/** The status was written before the components. It is corrected when the hub did not take all of them. */
async function tellAgain(key: string, deps: AdvanceDeps, signal: AbortSignal): Promise<void> {
  const facts = await deps.factsOf(key);
  if (facts === undefined) return;
  const { mark, status } = decide(facts, deps.clock.date().getTime());
  if (mark === undefined) await writeStatus(facts.set, status, deps, signal);
}

/** Stamps, and then writes the leaving components. */
async function writeChildren(
  facts: SetFacts,
  { stamps, removals, verifications = [] }: Decision,
  { children, events }: AdvanceDeps,
  signal: AbortSignal,
): Promise<NotTaken> {
  const { set } = facts;
  const notTaken: NotTaken = { refused: new Map(), failed: new Map(), errors: [] };
  const written: Stamp[] = [];
  const sendings = stamps.map((stamp) => ({
    cluster: stamp.cluster,
    isRefusable: true,
    send: async () => {
      await children.stamp(set, stamp, signal);
      written.push(stamp);
    },
  }));
  await sendAll(sendings, { atOnce: stampsAtOnce, notTaken }, signal);
  for (const event of stampEvents(written)) void events.record(set, event, signal);
  const stamped = new Set(stamps.map(({ child }) => child?.metadata.uid));
  const asked = facts.children.filter(({ metadata }) => !stamped.has(metadata.uid));
  const questions = children.questions(verifications, asked, signal);
  await sendAll(questions, { atOnce: stampsAtOnce, notTaken }, signal);
  const leaving = children.removals(removals, facts.children, signal);
  await sendAll(leaving, { atOnce: 1, notTaken }, signal);
  return notTaken;
}
