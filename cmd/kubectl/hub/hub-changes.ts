import { setTimeout as delay } from "node:timers/promises";

import { Reflector } from "../../../access/kube/reflector.ts";
import { operatorApiVersion } from "../../../api/component.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Selection } from "../selection/selection.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";

/** Tells when something may have changed. */
export interface Changes extends Disposable {
  /** Resolves when a component changed since the last call, or after `paceMs`; never rejects. */
  next(paceMs: number, signal: AbortSignal): Promise<void>;
}

// Several changes at once are one.
const settleMs = 300;

/** Watches the selected components of the hub until the signal aborts. */
export function hubChanges(
  { hub }: Pick<ClusterAccess, "hub">,
  { kinds, namespace, labelSelector }: Selection,
  signal: AbortSignal,
): Changes {
  let changed = Promise.withResolvers<void>();
  const tell = (): void => changed.resolve();
  const reflectors = kinds.map((kind) => {
    const ref = { resource: knownResource(operatorApiVersion, kind), namespace, labelSelector };
    return new Reflector({ client: hub, ref }, { onChange: tell, onDelete: tell }, signal);
  });
  return {
    async next(paceMs, end) {
      const stop = new AbortController();
      const waited = AbortSignal.any([end, stop.signal]);
      const polled = delay(paceMs, undefined, { signal: waited }).catch(() => undefined);
      await Promise.race([changed.promise, polled]);
      stop.abort();
      await delay(Math.min(settleMs, paceMs), undefined, { signal: end }).catch(() => undefined);
      changed = Promise.withResolvers<void>();
    },
    [Symbol.dispose]() {
      for (const reflector of reflectors) reflector[Symbol.dispose]();
    },
  };
}
