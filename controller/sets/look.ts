import { WriteRefusedError } from "../../access/http/write-permit.ts";
import { ApiError } from "../../access/kube/api-error.ts";
import type { FleetSet } from "../../api/fleet-set.ts";
import { decide } from "../../sets/decide.ts";
import type { Decision, Obstacle, SetFacts, Stamp } from "../../sets/facts.ts";
import type { EventRecorder } from "../events.ts";
import type { Clock } from "../queue/clock.ts";
import type { Next } from "../queue/delays.ts";
import { setEvents, stampEvents } from "./set-events.ts";
import { type ChildWriter, refusalOf } from "./write-children.ts";
import type { RevisionWriter } from "./write-revisions.ts";
import type { SetWriter } from "./write-set.ts";

export interface LookDeps {
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, "record">;
  readonly sets: SetWriter;
  readonly revisions: RevisionWriter;
  readonly children: ChildWriter;
  /** What the hub holds now about a set; undefined: the set is gone. */
  readonly factsOf: (key: string) => SetFacts | undefined;
  /** The hub refused the component of a cluster. */
  readonly onRefusal: (set: FleetSet, cluster: string, obstacle: Obstacle) => void;
}

/** Each mark leads to another decision at once; more in a row than this would be a decision that never ends. */
const mostMarks = 5;
const stampsAtOnce = 16;
/** How soon to look again when a set has changed under our hands. */
const staleMs = 250;

/**
 * One look at a set: gathers the facts, decides, and writes the marks of its revisions, then its status, then what is stamped, then what leaves. Whatever is not
 * written because this process ends is decided again by the next one. Throws as the client does.
 */
export async function lookAt(key: string, deps: LookDeps, signal: AbortSignal): Promise<Next> {
  try {
    return await look(key, deps, signal);
  } catch (error) {
    if (signal.aborted || error instanceof WriteRefusedError) return { kind: "done" };
    if (error instanceof ApiError && error.status === 409) return { kind: "after", ms: staleMs };
    throw error;
  }
}

async function look(key: string, deps: LookDeps, signal: AbortSignal): Promise<Next> {
  for (let marks = 0; marks < mostMarks; marks += 1) {
    const facts = deps.factsOf(key);
    if (facts === undefined) return { kind: "done" };
    // oxlint-disable-next-line no-await-in-loop -- the next decision follows from this write
    const decision = await decideAbout(facts, deps, signal);
    if (decision === undefined) return { kind: "done" };
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (decision.mark === undefined) return write(facts, decision, deps, signal);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await deps.revisions.mark(facts, decision.mark, signal);
    // oxlint-disable-next-line no-await-in-loop -- as above
    if (decision.mark.kind === "retry") await deps.sets.dropRetry(facts.set, signal);
  }
  throw new Error(`The decisions about ${key} never end`);
}

/** Undefined when a deleted set has nothing left to do. */
async function decideAbout(
  facts: SetFacts,
  { sets, clock }: LookDeps,
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

// oxlint-disable-next-line max-params -- three facts, and the signal last
async function write(
  facts: SetFacts,
  decision: Decision,
  deps: LookDeps,
  signal: AbortSignal,
): Promise<Next> {
  const drops = decision.dropsAcceptance === true;
  const set = drops ? await deps.sets.dropAcceptance(facts.set, signal) : facts.set;
  await deps.sets.report(set, decision.status, signal);
  for (const event of setEvents(set.status, decision.status)) {
    void deps.events.record(set, event, signal);
  }
  await stampAll(facts, decision.stamps, deps, signal);
  await deps.children.remove(decision.removals, facts.children, signal);
  if (decision.status.rollout?.phase === "Complete") await deps.revisions.prune(facts, signal);
  const { nextLook } = decision;
  if (nextLook === undefined) return { kind: "change" };
  return { kind: "after", ms: Math.max(0, nextLook - deps.clock.date().getTime()) };
}

/** Some at a time; the first error that is no refusal ends it, and what is left is decided again. */
// oxlint-disable-next-line max-params -- three facts, and the signal last
async function stampAll(
  { set }: SetFacts,
  stamps: readonly Stamp[],
  deps: LookDeps,
  signal: AbortSignal,
): Promise<void> {
  for (const event of stampEvents(stamps)) void deps.events.record(set, event, signal);
  const queue = stamps.values();
  const errors: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (const stamp of queue) {
      if (errors.length > 0) return;
      try {
        // oxlint-disable-next-line no-await-in-loop -- a worker does one after the other
        await deps.children.stamp(set, stamp, signal);
      } catch (error) {
        const refusal = refusalOf(error);
        if (refusal === undefined) errors.push(error);
        else deps.onRefusal(set, stamp.cluster, refusal);
      }
    }
  };
  await Promise.all(Array.from({ length: stampsAtOnce }, worker));
  if (errors.length > 0) throw errors[0];
}
