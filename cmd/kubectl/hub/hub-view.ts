import type { Component } from "../../../api/component.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { blockingCondition, conditionCode } from "../commands/status/condition-code.ts";
import { ownReasons, type OwnReason } from "../commands/status/own-reasons.ts";
import { knfOf } from "../explaining/knf-of.ts";

/** `Outdated`: the status is about an older generation of the spec. */
export type HubState = "Ready" | "NotReady" | "Unknown" | "Outdated" | "Deleting";

/** What the hub's object says about itself. */
export interface HubView {
  readonly state: HubState;
  readonly reason: string | null;
  /** The number of the reason, more exact than it where the condition that is in the way says more; null when nothing is. */
  readonly code: KnfCode | null;
  /** Foreign text: whatever controller wrote the condition. */
  readonly message: string | null;
  /** Since when, RFC 3339. */
  readonly since: string | null;
}

/** The hub's view of a component, from its conditions alone. */
export function hubViewOf({ metadata, status }: Component): HubView {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const { deletionTimestamp, creationTimestamp } = metadata;
  const said = saidBy(ready, status?.conditions ?? []);
  if (deletionTimestamp !== undefined) {
    return { state: "Deleting", ...said, since: deletionTimestamp };
  }
  if (ready === undefined) {
    return { state: "Unknown", ...own("NoStatus"), since: creationTimestamp ?? null };
  }
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return { state: "Outdated", ...said, ...own("NotObserved") };
  }
  return { state: states[ready.status], ...said };
}

const states = { True: "Ready", False: "NotReady", Unknown: "Unknown" } as const;

function own(reason: OwnReason): Pick<HubView, "reason" | "code" | "message"> {
  return { reason, code: knfOf(reason), message: ownReasons[reason] };
}

function saidBy(
  ready: Condition | undefined,
  conditions: readonly Condition[],
): Omit<HubView, "state"> {
  const blocking = blockingCondition(conditions);
  return {
    reason: ready?.reason ?? null,
    code: blocking === undefined ? null : conditionCode(blocking),
    message: ready?.message ?? null,
    since: ready?.lastTransitionTime ?? null,
  };
}
