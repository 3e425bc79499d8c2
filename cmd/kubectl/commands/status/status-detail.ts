import type { Component } from "../../../../api/component.ts";
import type { KnfCode } from "../../../../api/knf/knf-codes.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { eventFactOf, newestLast, type EventFact } from "../../hub/event-fact.ts";
import { anchorOf, deploymentsOf, missingDeployments } from "../../hub/own-objects.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { SpokeReading } from "../../spokes/spoke-reading.ts";
import { conditionCode } from "./condition-code.ts";

/** What is known of one installation beyond its row. */
export interface StatusDetail {
  /** Ready first, then by type. */
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string | null;
    /** The number of what it says; null where all is well. */
    readonly code: KnfCode | null;
    readonly message: string | null;
    readonly since: string | null;
  }[];
  /** Null when the cluster was not read. */
  readonly deployments:
    | readonly {
        readonly namespace: string;
        readonly name: string;
        readonly available: boolean;
        readonly ready: number;
        readonly desired: number;
      }[]
    | null;
  /** `namespace/name` of Deployments that should be there and are not. */
  readonly missing: readonly string[];
  /** The anchor of the installation; null when there is none, or it was not read. */
  readonly anchor: { readonly namespace: string; readonly name: string } | null;
  /** Last Warning events of the component on the hub, newest last; null when they could not be read. */
  readonly events: readonly EventFact[] | null;
}

/** The detail of one component from its hub object, what was read of its cluster, and its Events. */
export function statusDetailOf(
  component: Component,
  reading: SpokeReading | undefined,
  events: readonly EventFact[] | null,
): StatusDetail {
  const facts = reading?.kind === "read" ? reading.facts : undefined;
  const anchor = facts === undefined ? undefined : anchorOf(component, facts);
  return {
    conditions: (component.status?.conditions ?? [])
      .map((condition) => ({
        type: condition.type,
        status: condition.status,
        reason: condition.reason ?? null,
        code: conditionCode(condition),
        message: condition.message ?? null,
        since: condition.lastTransitionTime ?? null,
      }))
      .toSorted((a, b) => (orderOf(a.type) < orderOf(b.type) ? -1 : 1)),
    deployments:
      facts === undefined
        ? null
        : deploymentsOf(component, facts).map(({ namespace, name, available, ready, desired }) => ({
            namespace,
            name,
            available,
            ready,
            desired,
          })),
    missing: facts === undefined ? [] : missingDeployments(component, facts),
    anchor: anchor === undefined ? null : { namespace: anchor.namespace, name: anchor.name },
    events,
  };
}

function orderOf(type: string): string {
  return type === "Ready" ? "" : type;
}

const shownEvents = 5;

/** The last Warning events of a component; null when the hub does not let us read them. */
export async function warningsOf(
  component: Component,
  { hub, hubTimeoutMs }: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  signal: AbortSignal,
): Promise<readonly EventFact[] | null> {
  const { namespace, uid } = component.metadata;
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(hubTimeoutMs)]);
  const fieldSelector = `involvedObject.uid=${uid},type=Warning`;
  const ref = { resource: knownResource("v1", "Event"), namespace, fieldSelector };
  const found: readonly KubeObject[] | null = await hub.list(ref, {}, deadline).then(
    ({ items }) => items,
    () => null,
  );
  if (found === null) return null;
  // A server that does not know the selector answers with everything.
  const own = found
    .map(eventFactOf)
    .filter(({ about, type }) => about.uid === uid && type === "Warning");
  return newestLast(own).slice(-shownEvents);
}
