import { type ObjectKey } from "../../../api/kubernetes.ts";
import { outlives, type DesiredObject } from "../../../installation/desired.ts";
import type { ApplyPlan } from "../../../installation/plan.ts";
import type { Trouble } from "../change-set.ts";
import type { RecordedAttempt, InstallAttempt } from "../install-attempt.ts";
import { entryOf } from "../install-state.ts";
import { withoutRepair } from "./conflicts.ts";

/** An attempt with fewer objects, and the objects that are left to other components. */
interface Own<W> {
  readonly attempt: W;
  readonly left: readonly Trouble[];
}

/**
 * The attempt without the objects that were left to other components before and still belong to them. A lost anchor also loses this record: the
 * attempt then leaves out each object that another component has. Asks only when an object was left or the anchor is lost.
 */
export async function withoutOthers(
  attempt: InstallAttempt,
  { isLost }: { readonly isLost: boolean },
  signal: AbortSignal,
): Promise<Own<InstallAttempt>> {
  const { desired, memory, deps } = attempt;
  const wanted = new Set(desired.objects.map(({ id }) => id));
  const left = new Map([...memory.state.left].filter(([id]) => wanted.has(id)));
  const open = new Set(left.keys());
  const lost = idsOf(isLost ? desired.objects.filter(({ key }) => !outlives(key)) : []);
  const isAsked = open.size + lost.size > 0;
  const question = { open, lost, fought: new Set<string>() };
  const answer = isAsked ? await deps.holders?.(question, signal) : left;
  const theirs = answer ?? left;
  memory.become((state) => ({ ...state, left: theirs }));
  return ownOf(attempt, theirs);
}

export interface OwnPlan extends Own<RecordedAttempt> {
  readonly plan: ApplyPlan;
}

/**
 * The plan without objects of other components. Has to be called after the inventory names all desired objects: when two components begin to want an
 * object at the same time, at least one of them then sees the other and leaves the object. An object that both have had for a long time stays with
 * the component that was installed first.
 */
export async function ownPlan(
  { plan, fought }: { readonly plan: ApplyPlan; readonly fought: readonly DesiredObject[] },
  attempt: RecordedAttempt,
  signal: AbortSignal,
): Promise<OwnPlan> {
  const { desired, memory, deps, isNewcomer } = attempt;
  const { state } = memory;
  const unproven = plan.apply.filter(
    ({ id, key }) => entryOf(state, id)?.fingerprint === undefined && !outlives(key),
  );
  // A new installation was asked about all its objects, except for objects that turned out to be in another namespace than rendered.
  const isAsked = isNewcomer && desired.guessed.length === 0;
  const open = isAsked ? [] : unproven.filter(({ id }) => !state.free.has(id));
  const mine = fought.filter(({ key }) => !outlives(key));
  const isOpen = open.length + mine.length > 0;
  const question = { open: idsOf(open), fought: idsOf(mine) };
  const answer = isOpen ? await deps.holders?.(question, signal) : undefined;
  const theirs = answer ?? new Map<string, string>();
  const theirKeys = mine.filter(({ id }) => theirs.has(id)).map(({ key }) => key);
  memory.become((now) => ({
    ...now,
    free: idsOf(unproven.filter(({ id }) => !theirs.has(id))),
    left: new Map([...now.left, ...theirs]),
    conflicts: theirKeys.reduce(withoutRepair, now.conflicts),
  }));
  const apply = plan.apply.filter(({ id }) => !theirs.has(id));
  return { plan: { ...plan, apply }, ...ownOf(attempt, theirs) };
}

/** Objects with our label that another component has. A late apply of ours may have set the label. Asks only when there are any. */
export async function heldByOthers(
  ids: ReadonlySet<string>,
  { deps }: Pick<InstallAttempt, "deps">,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const question = { open: ids, fought: new Set<string>() };
  const answer = ids.size === 0 ? undefined : await deps.holders?.(question, signal);
  return answer ?? new Map();
}

function ownOf<W extends InstallAttempt>(attempt: W, theirs: ReadonlyMap<string, string>): Own<W> {
  if (theirs.size === 0) return { attempt, left: [] };
  const { desired } = attempt;
  const objects = desired.objects.filter(({ id }) => !theirs.has(id));
  const left = desired.objects.flatMap(({ id, key }) => troubleOf(key, theirs.get(id)));
  return { attempt: { ...attempt, desired: { ...desired, objects } }, left };
}

function troubleOf(key: ObjectKey, message: string | undefined): readonly Trouble[] {
  return message === undefined ? [] : [{ key, message }];
}

function idsOf(objects: readonly DesiredObject[]): ReadonlySet<string> {
  return new Set(objects.map(({ id }) => id));
}
