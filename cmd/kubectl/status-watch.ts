import { setTimeout as delay } from "node:timers/promises";

import { Reflector } from "../../access/reflector.ts";
import { operatorApiVersion } from "../../api/component.ts";
import { knownResource } from "../../api/resources.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import type { Selection } from "./selection.ts";
import type { StatusItem } from "./status-item.ts";

const settleMs = 500;
const pollMs = 10_000;

/**
 * Reads the fleet again and again until the signal aborts, and shows what changed: at once when a component of the hub changes, and every ten
 * seconds, give or take two, because spokes tell us nothing.
 */
export async function watchStatus(
  read: () => Promise<readonly StatusItem[]>,
  show: (changed: readonly StatusItem[]) => void,
  { access, selection, signal }: WatchContext,
): Promise<void> {
  using changes = hubChanges(access, selection, signal);
  const shown = new Map<string, string>();
  while (!signal.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    const items = await read();
    // An interruption during the reading left gaps that are no news.
    if (isAborted(signal)) return;
    const changed = items.filter((item) => shown.get(keyOf(item)) !== JSON.stringify(item));
    for (const item of items) shown.set(keyOf(item), JSON.stringify(item));
    if (changed.length > 0) show(changed);
    // oxlint-disable-next-line no-await-in-loop -- nothing is read before something may have changed
    await changes.next(signal);
  }
}

interface WatchContext {
  readonly access: Pick<ClusterAccess, "hub">;
  readonly selection: Selection;
  readonly signal: AbortSignal;
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function keyOf({ kind, namespace, name }: StatusItem): string {
  return `${kind}/${namespace}/${name}`;
}

/** Resolves when a component changed, or after the pace of polling; never rejects. */
function hubChanges(
  { hub }: Pick<ClusterAccess, "hub">,
  { kinds, namespace, labelSelector }: Selection,
  signal: AbortSignal,
): Disposable & { readonly next: (signal: AbortSignal) => Promise<void> } {
  let changed = Promise.withResolvers<void>();
  const tell = (): void => changed.resolve();
  const reflectors = kinds.map((kind) => {
    const ref = { resource: knownResource(operatorApiVersion, kind), namespace, labelSelector };
    return new Reflector({ client: hub, ref }, { onChange: tell, onDelete: tell }, signal);
  });
  return {
    async next(end) {
      const pace = pollMs + (Math.random() - 0.5) * 4_000;
      const stop = new AbortController();
      const waited = AbortSignal.any([end, stop.signal]);
      const polled = delay(pace, undefined, { signal: waited }).catch(() => undefined);
      await Promise.race([changed.promise, polled]);
      stop.abort();
      // Several changes at once are one.
      await delay(settleMs, undefined, { signal: end }).catch(() => undefined);
      changed = Promise.withResolvers<void>();
    },
    [Symbol.dispose]() {
      for (const reflector of reflectors) reflector[Symbol.dispose]();
    },
  };
}
