import type { CollectionRef } from "../../../access/kube/kube-client.ts";
import { Reflector } from "../../../access/kube/reflector.ts";
import { pause } from "../../../access/time/clock.ts";
import { Follower, isAborted } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { type Component, operatorApiVersion } from "../../../api/component.ts";
import { fleetSetApiVersion, type FleetSetKind } from "../../../api/fleet-set.ts";
import { knownResource } from "../../../api/resources.ts";
import { type ReportError, troubleOf } from "../output/report.ts";
import type { Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { type HubReading, inTrouble, listInstallations } from "./installations.ts";

/** Waits for changes on the hub. */
export interface Changes extends Disposable {
  /** Resolves when something changed since the last call, or after `paceMs`. Rejects only when the watch has a bug. */
  next(paceMs: number, signal: AbortSignal): Promise<void>;
}

/** Rejects when the watch has a bug. */
function nextChange(): PromiseWithResolvers<void> {
  const change = Promise.withResolvers<void>();
  // Nobody may be waiting then.
  change.promise.catch(() => undefined);
  return change;
}

// Changes within this time count as one.
const settleMs = 300;

type Watched = Pick<Selection, "kinds" | "namespace" | "labelSelector"> & {
  /** Kinds of fleet sets that are watched, too. */
  readonly setKinds?: readonly FleetSetKind[];
};

/** Watches the selected components of the hub, and sets, until the signal aborts. */
export function watchHub(
  access: Pick<ClusterAccess, "hub">,
  { kinds, setKinds = [], namespace, labelSelector }: Watched,
  signal: AbortSignal,
): Changes {
  const ofComponents = kinds.map((kind) => {
    return { resource: knownResource(operatorApiVersion, kind), namespace, labelSelector };
  });
  const ofSets = setKinds.map((kind) => {
    return { resource: knownResource(fleetSetApiVersion, kind), namespace };
  });
  return objectChanges(access, [...ofComponents, ...ofSets], signal);
}

/** Watches collections of the hub until the signal aborts. */
export function objectChanges(
  { hub }: Pick<ClusterAccess, "hub">,
  refs: readonly CollectionRef[],
  signal: AbortSignal,
): Changes {
  let change = nextChange();
  const noteChange = (): void => change.resolve();
  const reflectors = refs.map(
    (ref) =>
      new Reflector(
        { client: hub, clock: systemClock, ref },
        { onChange: noteChange, onDelete: noteChange, onBug: (error) => change.reject(error) },
        signal,
      ),
  );
  return {
    async next(paceMs, end) {
      using wait = new Follower(end);
      await Promise.race([change.promise, pause(systemClock, paceMs, wait.signal)]);
      wait.abort();
      await pause(systemClock, Math.min(settleMs, paceMs), end);
      change = nextChange();
    },
    [Symbol.dispose]() {
      for (const reflector of reflectors) reflector[Symbol.dispose]();
    },
  };
}

const pollMs = 10_000;
const paceMs = 2_000;
/** How long a deleted object is still followed, for its last Events. */
export const partingMs = 30_000;

interface Following {
  readonly access: HubReading;
  readonly selection: Selection;
  /** Called with the selected components, and with those that were selected until half a minute ago. */
  readonly onComponents: (components: readonly Component[]) => void;
  /** Called for each failed read of the hub. The last components stay in use. */
  readonly onTrouble: (error: ReportError) => void;
}

/**
 * Passes the selected components to a long-running command until the signal aborts. Reads the hub again when a component changes, at most every two seconds,
 * and also every ten seconds, because ClusterProfiles are not watched. Never rejects.
 */
export async function followComponents(
  { access, selection, onComponents, onTrouble }: Following,
  signal: AbortSignal,
): Promise<void> {
  using changes = watchHub(access, selection, signal);
  const seen = new Map<string, { readonly component: Component; readonly atMs: number }>();
  while (!signal.aborted) {
    // oxlint-disable no-await-in-loop -- one read after another
    try {
      const listed = inTrouble(await listInstallations(access, selection, signal), selection);
      const atMs = performance.now();
      for (const component of listed) seen.set(component.metadata.uid, { component, atMs });
      for (const [uid, one] of seen) if (atMs - one.atMs > partingMs) seen.delete(uid);
      for (const error of access.malformed?.tell() ?? []) onTrouble(error);
      onComponents([...seen.values()].map(({ component }) => component));
    } catch (error) {
      if (isAborted(signal)) return;
      onTrouble(troubleOf(error, null, access.hubTimeoutMs));
    }
    await pause(systemClock, paceMs, signal);
    await changes.next(pollMs * (0.8 + Math.random() * 0.4), signal);
    // oxlint-enable no-await-in-loop
  }
}
