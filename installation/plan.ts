import { identityOf } from "../api/kubernetes.ts";
import { outlives, type Prepared } from "./desired.ts";
import { definedKind, kindOf } from "./gates.ts";
import { type Inventory, type InventoryEntry, mayBeGone } from "./inventory.ts";
import { kindIdOf } from "./kinds.ts";
import type { ObservedObject } from "./observed-object.ts";

/** What is known of a cluster before anything is sent. */
export interface Known {
  /** Absent: nothing was installed yet, or nobody knows what. */
  readonly inventory: Inventory | undefined;
  /** Records by identity. */
  readonly observed: ReadonlyMap<string, ObservedObject>;
  /** When our apply changed each object, by identity, as far as this process had the answers; see managed-fields.ts. */
  readonly appliedAt?: Pick<ReadonlyMap<string, number>, "get">;
  /** Kinds that may not be watched, by `kindIdOf`: what was accepted of them counts as being there. */
  readonly refused?: Pick<ReadonlyMap<string, unknown>, "has">;
}

/** What has to be sent; every desired object is in exactly one of the first three. */
export interface ApplyPlan {
  readonly apply: readonly Prepared[];
  /** Identities of those of `apply` that were sent like this before, so that somebody deleted or changed them since. */
  readonly drifted: ReadonlySet<string>;
  /** Being deleted: a write would be accepted and lost. */
  readonly leaving: readonly Prepared[];
  readonly unchanged: readonly Prepared[];
  /** In the inventory, but not desired any more; of an install also what is only on the cluster, see strays.ts. */
  readonly prune: readonly InventoryEntry[];
}

/** Compares what is wanted with what was sent and with what is there. */
export function planApply(desired: readonly Prepared[], known: Known): ApplyPlan {
  const sent = new Map(known.inventory?.entries.map((entry) => [identityOf(entry), entry]));
  const verdicts = heldByDefinitions(
    desired.map((object) => ({
      object,
      verdict:
        known.refused?.has(kindIdOf(object.key)) === true
          ? unseen(object, sent.get(object.id))
          : verdictOn(object, sent.get(object.id), {
              observed: known.observed.get(object.id),
              appliedAt: known.appliedAt?.get(object.id),
            }),
    })),
  );
  const having = (wanted: Verdict): readonly Prepared[] =>
    verdicts.filter(({ verdict }) => verdict === wanted).map(({ object }) => object);
  const apply = having("apply");
  return {
    apply,
    drifted: new Set(apply.filter((one) => isAccepted(one, sent.get(one.id))).map(({ id }) => id)),
    leaving: having("leaving"),
    unchanged: having("unchanged"),
    // Nothing desired: see install.ts. Uninstalling has its own way (finalize.ts).
    prune: desired.length === 0 ? [] : obsoleteEntries(desired, known.inventory?.entries ?? []),
  };
}

/** Whether a plan asks for no request at all. */
export function isSettled({ apply, leaving, prune }: ApplyPlan): boolean {
  return apply.length === 0 && leaving.length === 0 && prune.length === 0;
}

type Verdict = "apply" | "leaving" | "unchanged";

interface Judged {
  readonly object: Prepared;
  readonly verdict: Verdict;
}

/** A kind that is going takes its objects along and accepts no new ones: they come back together with it. */
function heldByDefinitions(judged: readonly Judged[]): readonly Judged[] {
  const leaving = judged.filter(({ verdict }) => verdict === "leaving");
  const going = kindsGoingWith(leaving.map(({ object }) => object));
  return judged.map(({ object, verdict }) => ({
    object,
    verdict: verdict === "apply" && going.has(kindOf(object)) ? "leaving" : verdict,
  }));
}

/** The kinds that are being deleted with these objects, as `kindOf` writes them. */
export function kindsGoingWith(leaving: readonly Prepared[]): ReadonlySet<string> {
  return new Set(leaving.flatMap(definedKind).map(([kind]) => kind));
}

interface Seen {
  readonly observed: ObservedObject | undefined;
  readonly appliedAt: number | undefined;
}

function verdictOn(
  object: Prepared,
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

/** An apply of ours that nobody waited for any more has landed after the last answer, and may be of another specification. */
function isLate({ observed, appliedAt }: Seen): boolean {
  return appliedAt !== undefined && observed !== undefined && observed.appliedAt !== appliedAt;
}

function unseen(object: Prepared, sent: InventoryEntry | undefined): Verdict {
  return isAccepted(object, sent) ? "unchanged" : "apply";
}

function isAccepted(object: Prepared, sent: InventoryEntry | undefined): sent is InventoryEntry {
  return sent?.hash === object.hash && sent.fingerprint !== undefined;
}

/** What an inventory names besides what is desired, and what is not to stay. */
export function obsoleteEntries(
  desired: readonly Prepared[],
  entries: readonly InventoryEntry[],
): readonly InventoryEntry[] {
  const wanted = new Set(desired.map(({ id }) => id));
  return entries.filter((entry) => !wanted.has(identityOf(entry)) && !outlives(entry));
}
