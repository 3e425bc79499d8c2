import { kindId, objectId } from "../api/keys.ts";
import { isJob } from "../api/kubernetes.ts";
import { outlives, type DesiredObject } from "./desired.ts";
import { definedKind, kindOf } from "./gates.ts";
import { type Inventory, type InventoryEntry, mayBeGone } from "./inventory.ts";
import type { ObservedObject } from "./observed-object.ts";

/** The objects that were sent before, and their state on the cluster. */
export interface KnownObjects {
  /** Absent: nothing was installed yet, or the list of objects is not known. */
  readonly inventory: Inventory | undefined;
  /** Records by identity. */
  readonly observed: ReadonlyMap<string, ObservedObject>;
  /** When our apply changed each object, by identity, as far as this process had the answers; see managed-fields.ts. */
  readonly appliedAt?: Pick<ReadonlyMap<string, number>, "get">;
  /** Kinds that may not be watched, by `kindId`. Their accepted objects count as present. */
  readonly refused?: Pick<ReadonlyMap<string, unknown>, "has">;
}

/** All facts that decide the work of an install on its objects. */
export interface ObjectFacts extends KnownObjects {
  /** Objects with our label that neither the desired set nor the inventory names; see strays.ts. */
  readonly strays: readonly InventoryEntry[];
  /** Identities of Jobs that have to be sent again although they may be gone. */
  readonly lostJobs: ReadonlySet<string>;
  /** Identities of objects that belong to another component by now. */
  readonly others: Pick<ReadonlyMap<string, unknown>, "has">;
  /** Whether an audit sends an object again although it looks right. */
  readonly isToAudit: (id: string) => boolean;
  /** Identities of objects in conflict that are not repaired for a while. */
  readonly held: ReadonlySet<string>;
  /** The installation keeps what its inventory holds; see kept.ts. Default false. */
  readonly isKept?: boolean;
}

/** The objects to send. Every desired object is in exactly one of the first three lists. */
export interface ApplyPlan {
  readonly apply: readonly DesiredObject[];
  /** Identities of the objects of `apply` that were sent in this state before: another writer deleted or changed them since. */
  readonly drifted: ReadonlySet<string>;
  /** Being deleted: a write would be accepted and lost. */
  readonly leaving: readonly DesiredObject[];
  readonly unchanged: readonly DesiredObject[];
  /** Objects of the inventory that are not desired any more. For an install also strays; see strays.ts. */
  readonly prune: readonly InventoryEntry[];
}

type PlanFilter = (plan: ApplyPlan, facts: ObjectFacts) => ApplyPlan;

/** Plans the work of an install on its objects. Sends no request. */
export function planInstall(desired: readonly DesiredObject[], facts: ObjectFacts): ApplyPlan {
  const filters: readonly PlanFilter[] = [
    withStrays,
    withLostJobs,
    withoutSharedObjects,
    withAudit,
    withoutHeldObjects,
    withoutDeletions,
  ];
  return filters.reduce((plan, filter) => filter(plan, facts), planObjects(desired, facts));
}

/** Compares the desired objects with the sent ones and with the live ones. */
export function planObjects(desired: readonly DesiredObject[], known: KnownObjects): ApplyPlan {
  const sent = sentObjects(known);
  const judged = judge(desired, known, sent);
  const apply = objectsWith(judged, "apply");
  return {
    apply,
    drifted: new Set(apply.filter((one) => isAccepted(one, sent.get(one.id))).map(({ id }) => id)),
    leaving: objectsWith(judged, "leaving"),
    unchanged: objectsWith(judged, "unchanged"),
    // Nothing desired: see install.ts. Uninstalling has its own way (finalize.ts).
    prune: desired.length === 0 ? [] : obsoleteEntries(desired, known.inventory?.entries ?? []),
  };
}

/** The `unchanged` of `planObjects`. */
export function unchangedObjects(
  desired: readonly DesiredObject[],
  known: KnownObjects,
): readonly DesiredObject[] {
  return objectsWith(judge(desired, known, sentObjects(known)), "unchanged");
}

/** Whether a plan asks for no request at all. */
export function isSettled({ apply, leaving, prune }: ApplyPlan): boolean {
  return apply.length === 0 && leaving.length === 0 && prune.length === 0;
}

type Verdict = "apply" | "leaving" | "unchanged";

interface Judged {
  readonly object: DesiredObject;
  readonly verdict: Verdict;
}

type SentObjects = ReadonlyMap<string, InventoryEntry>;

function sentObjects({ inventory }: KnownObjects): SentObjects {
  return new Map(inventory?.entries.map((entry) => [objectId(entry), entry]));
}

function judge(
  desired: readonly DesiredObject[],
  { observed, appliedAt, refused }: KnownObjects,
  sent: SentObjects,
): readonly Judged[] {
  const judged = desired.map((object): Judged => {
    const before = sent.get(object.id);
    if (refused?.has(kindId(object.key)) === true) {
      return { object, verdict: verdictOnUnseen(object, before) };
    }
    const seen = { observed: observed.get(object.id), appliedAt: appliedAt?.get(object.id) };
    return { object, verdict: verdictOn(object, before, seen) };
  });
  return heldByDefinitions(judged);
}

function objectsWith(judged: readonly Judged[], verdict: Verdict): readonly DesiredObject[] {
  return judged.filter((one) => one.verdict === verdict).map(({ object }) => object);
}

/** The deletion of a kind deletes its objects, and the kind accepts no new ones. Its objects come back together with the kind. */
function heldByDefinitions(judged: readonly Judged[]): readonly Judged[] {
  const leaving = judged.filter(({ verdict }) => verdict === "leaving");
  const going = kindsGoingWith(leaving.map(({ object }) => object));
  return judged.map(({ object, verdict }) => ({
    object,
    verdict: verdict === "apply" && going.has(kindOf(object)) ? "leaving" : verdict,
  }));
}

/** The kinds that are being deleted with these objects, as `kindOf` writes them. */
function kindsGoingWith(leaving: readonly DesiredObject[]): ReadonlySet<string> {
  return new Set(leaving.flatMap(definedKind).map(([kind]) => kind));
}

interface Seen {
  readonly observed: ObservedObject | undefined;
  readonly appliedAt: number | undefined;
}

function verdictOn(
  object: DesiredObject,
  sent: InventoryEntry | undefined,
  { observed, appliedAt }: Seen,
): Verdict {
  const isGoing = observed?.deleting === true;
  const accepted = isAccepted(object, sent);
  if (accepted && (observed === undefined || isGoing) && mayBeGone(sent)) return "unchanged";
  if (isGoing) return "leaving";
  const isOurs = observed?.fingerprint === sent?.fingerprint;
  return accepted && isOurs && !isLate({ observed, appliedAt }) ? "unchanged" : "apply";
}

/** A late apply of ours arrived after the last answer. It may belong to another specification. */
function isLate({ observed, appliedAt }: Seen): boolean {
  return appliedAt !== undefined && observed !== undefined && observed.appliedAt !== appliedAt;
}

function verdictOnUnseen(object: DesiredObject, sent: InventoryEntry | undefined): Verdict {
  return isAccepted(object, sent) ? "unchanged" : "apply";
}

function isAccepted(
  object: DesiredObject,
  sent: InventoryEntry | undefined,
): sent is InventoryEntry {
  return sent?.hash === object.hash && sent.fingerprint !== undefined;
}

/** Strays are deleted like objects that are not desired any more. */
function withStrays(plan: ApplyPlan, { strays }: ObjectFacts): ApplyPlan {
  return { ...plan, prune: [...plan.prune, ...strays] };
}

/** A lost Job is sent again, and counts as changed by another writer. */
function withLostJobs(plan: ApplyPlan, { lostJobs }: ObjectFacts): ApplyPlan {
  const lost = plan.unchanged.filter(({ id }) => lostJobs.has(id));
  if (lost.length === 0) return plan;
  return {
    ...plan,
    apply: [...plan.apply, ...lost],
    drifted: new Set([...plan.drifted, ...lost.map(({ id }) => id)]),
    unchanged: plan.unchanged.filter(({ id }) => !lostJobs.has(id)),
  };
}

/** Another component deletes an object that was left to it. */
function withoutSharedObjects(plan: ApplyPlan, { others }: ObjectFacts): ApplyPlan {
  return { ...plan, prune: plan.prune.filter((entry) => !others.has(objectId(entry))) };
}

/** An audit sends unchanged objects again. */
function withAudit(plan: ApplyPlan, facts: ObjectFacts): ApplyPlan {
  const maySend = auditable(plan, facts);
  // A kept object is not sent again without a need.
  const isAudited = (object: DesiredObject): boolean =>
    facts.isToAudit(object.id) && object.sentHash === undefined && maySend(object);
  return {
    ...plan,
    apply: [...plan.apply, ...plan.unchanged.filter(isAudited)],
    unchanged: plan.unchanged.filter((object) => !isAudited(object)),
  };
}

/**
 * An audit sends present objects again. For a kind that may not be watched, it sends all objects except Jobs: only the answer shows a change by
 * another writer, or a deletion.
 */
function auditable(
  { leaving }: ApplyPlan,
  { observed, refused }: ObjectFacts,
): (object: DesiredObject) => boolean {
  const going = kindsGoingWith(leaving);
  return (object) => {
    if (refused?.has(kindId(object.key)) !== true) {
      return observed.get(object.id)?.deleting === false;
    }
    return !isJob(object.key) && !going.has(kindOf(object));
  };
}

/** An object in conflict is not repaired for a while. */
function withoutHeldObjects(plan: ApplyPlan, { held }: ObjectFacts): ApplyPlan {
  const isHeld = ({ id }: DesiredObject): boolean => plan.drifted.has(id) && held.has(id);
  return {
    ...plan,
    apply: plan.apply.filter((object) => !isHeld(object)),
    unchanged: [...plan.unchanged, ...plan.apply.filter(isHeld)],
  };
}

/** An installation that keeps the objects of its inventory deletes nothing. */
function withoutDeletions(plan: ApplyPlan, { isKept = false }: ObjectFacts): ApplyPlan {
  return isKept ? { ...plan, prune: [] } : plan;
}

/** The objects of an inventory that are neither desired nor kept. */
export function obsoleteEntries(
  desired: readonly DesiredObject[],
  entries: readonly InventoryEntry[],
): readonly InventoryEntry[] {
  const wanted = new Set(desired.map(({ id }) => id));
  return entries.filter((entry) => !wanted.has(objectId(entry)) && !outlives(entry));
}
