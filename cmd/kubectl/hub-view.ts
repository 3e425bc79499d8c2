import type { Component } from "../../api/component.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { ownReasons, type OwnReason } from "./own-reasons.ts";

/** `Outdated`: the status is about an older generation of the spec. */
export type HubState = "Ready" | "NotReady" | "Unknown" | "Outdated" | "Deleting";

/** What the hub's object says about itself. */
export interface HubView {
  readonly state: HubState;
  readonly reason: string | null;
  /** Foreign text: whatever controller wrote the condition. */
  readonly message: string | null;
  /** Since when, RFC 3339. */
  readonly since: string | null;
}

/** The hub's view of a component, from its conditions alone. */
export function hubViewOf({ metadata, status }: Component): HubView {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const { deletionTimestamp, creationTimestamp } = metadata;
  if (deletionTimestamp !== undefined) {
    return { state: "Deleting", ...saidBy(ready), since: deletionTimestamp };
  }
  if (ready === undefined) {
    return { state: "Unknown", ...own("NoStatus"), since: creationTimestamp ?? null };
  }
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    return { state: "Outdated", ...saidBy(ready), ...own("NotObserved") };
  }
  return { state: states[ready.status], ...saidBy(ready) };
}

const states = { True: "Ready", False: "NotReady", Unknown: "Unknown" } as const;

function own(reason: OwnReason): Pick<HubView, "reason" | "message"> {
  return { reason, message: ownReasons[reason] };
}

function saidBy(ready: Condition | undefined): Omit<HubView, "state"> {
  return {
    reason: ready?.reason ?? null,
    message: ready?.message ?? null,
    since: ready?.lastTransitionTime ?? null,
  };
}
