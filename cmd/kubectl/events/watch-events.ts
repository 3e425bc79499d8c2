import { setTimeout as delay } from "node:timers/promises";

import type { KubeClient } from "../../../access/kube-client.ts";
import { Reflector } from "../../../access/reflector.ts";
import type { Component } from "../../../api/component.ts";
import type { ClusterAccess } from "../cluster-access.ts";
import { eventFactOf } from "../event-fact.ts";
import { openLastingSpoke } from "../lasting-spoke.ts";
import { isRemote } from "../own-objects.ts";
import { clusterIdOf } from "../read-clusters.ts";
import type { ReportError } from "../report.ts";
import { unreadBecause } from "../spoke-reading.ts";
import { eventResource, hubEventsOf, placesOnSpoke, type EventItem } from "./events.ts";

const retryMs = 5_000;

interface Watching {
  readonly access: ClusterAccess;
  /** False: the hub alone. */
  readonly live: boolean;
  readonly spokeTimeoutMs: number;
  /** Called with every Event that is there or comes, also with those that are known. */
  readonly onEvent: (event: EventItem) => void;
  /** Called once for each trouble of a cluster, however long it lasts. */
  readonly onTrouble: (error: ReportError) => void;
}

/**
 * Watches the Events about the components, on the hub and on their clusters, until the signal aborts. A watch that ends is opened again where it was, and a cluster that
 * cannot be reached is tried every five seconds. Never rejects.
 */
export async function watchEvents(
  components: readonly Component[],
  { access, live, spokeTimeoutMs, onEvent, onTrouble }: Watching,
  signal: AbortSignal,
): Promise<void> {
  const told = new Set<string>();
  const tell = (error: ReportError): void => {
    const key = `${error.cluster} ${error.reason}`;
    if (!told.has(key)) onTrouble(error);
    told.add(key);
  };
  const { namespaces, isAbout } = hubEventsOf(components);
  const hub: Cluster = {
    id: null,
    namespaces,
    onEvent: (event) => isAbout(event) && onEvent(event),
  };
  using _hub = watchCluster(access.hub, { ...hub, tell }, signal);
  const remote = new Map(
    (live ? components.filter(isRemote) : []).map((one) => [
      clusterIdOf(one),
      one.spec?.clusterProfileRef,
    ]),
  );
  await Promise.all([
    ended(signal),
    ...[...remote].map(async ([id, ref]) => {
      const cluster = { id, namespaces: placesOnSpoke(components, id), onEvent, tell };
      while (!signal.aborted) {
        const deadline = AbortSignal.any([signal, AbortSignal.timeout(spokeTimeoutMs)]);
        try {
          // oxlint-disable-next-line no-await-in-loop -- one attempt after another
          const spoke = await openLastingSpoke(ref, access, deadline);
          using _watches = watchCluster(spoke.client, cluster, signal);
          // oxlint-disable-next-line no-await-in-loop -- the reflectors go on by themselves
          await ended(signal);
          spoke.close();
          return;
        } catch (error) {
          if (isAborted(signal)) return;
          tell(errorOf(deadline.aborted ? deadline.reason : error, id, spokeTimeoutMs));
        }
        // oxlint-disable-next-line no-await-in-loop -- one attempt after another
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }),
  ]);
}

interface Cluster {
  /** Null for the hub. */
  readonly id: string | null;
  readonly namespaces: readonly string[];
  readonly onEvent: (event: EventItem) => void;
}

function watchCluster(
  client: KubeClient,
  { id, namespaces, onEvent, tell }: Cluster & { readonly tell: Watching["onTrouble"] },
  signal: AbortSignal,
): Disposable {
  const reflectors = namespaces.map((namespace) => {
    const ref = { resource: eventResource, namespace };
    return new Reflector(
      { client, ref, maxBackoffMs: retryMs },
      {
        onChange: (object) => onEvent({ ...eventFactOf(object), cluster: id }),
        onDelete: () => undefined,
        onError: (error) => tell(errorOf(error, id, 0)),
      },
      signal,
    );
  });
  return {
    [Symbol.dispose]() {
      for (const reflector of reflectors) reflector[Symbol.dispose]();
    },
  };
}

function errorOf(error: unknown, cluster: string | null, timeoutMs: number): ReportError {
  const { reason, message } = unreadBecause(error, timeoutMs);
  return { reason, message, cluster };
}

function ended(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
