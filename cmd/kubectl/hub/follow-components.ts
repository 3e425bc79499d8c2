import { setTimeout as delay } from "node:timers/promises";

import type { Component } from "../../../api/component.ts";
import { type ReportError, troubleOf } from "../commands/status/report.ts";
import type { Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";
import { hubChanges } from "./hub-changes.ts";
import { inTrouble, listInstallations } from "./installations.ts";

const pollMs = 10_000;
const paceMs = 2_000;
/** How long what is gone is still followed: its end is of interest, too. */
export const partingMs = 30_000;

interface Following {
  readonly access: Pick<ClusterAccess, "hub" | "hubTimeoutMs">;
  readonly selection: Selection;
  /** Called with the selected components, and with those that were selected until half a minute ago. */
  readonly onComponents: (components: readonly Component[]) => void;
  /** The hub could not be asked; what was known stays. Called for each failure. */
  readonly onTrouble: (error: ReportError) => void;
}

/**
 * Keeps a command that goes on told of the components that it is about, until the signal aborts: the hub is asked again when a component changes, at most
 * every two seconds, and every ten seconds, because nothing tells of ClusterProfiles. Never rejects.
 */
export async function followComponents(
  { access, selection, onComponents, onTrouble }: Following,
  signal: AbortSignal,
): Promise<void> {
  using changes = hubChanges(access, selection, signal);
  const seen = new Map<string, { readonly component: Component; readonly atMs: number }>();
  while (!signal.aborted) {
    // oxlint-disable no-await-in-loop -- one look after another
    try {
      const listed = inTrouble(await listInstallations(access, selection, signal), selection);
      const atMs = performance.now();
      for (const component of listed) seen.set(component.metadata.uid, { component, atMs });
      for (const [uid, one] of seen) if (atMs - one.atMs > partingMs) seen.delete(uid);
      onComponents([...seen.values()].map(({ component }) => component));
    } catch (error) {
      if (isAborted(signal)) return;
      onTrouble(troubleOf(error, null, access.hubTimeoutMs));
    }
    await delay(paceMs, undefined, { signal }).catch(() => undefined);
    await changes.next(pollMs * (0.8 + Math.random() * 0.4), signal);
    // oxlint-enable no-await-in-loop
  }
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
