import type { Component } from "../../api/component.ts";
import type { Condition } from "../../api/kubernetes.ts";

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
    const message = "No controller has written a status yet";
    return { state: "Unknown", reason: "NoStatus", message, since: creationTimestamp ?? null };
  }
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    const message = "The controller has not seen the latest change of the spec";
    return { state: "Outdated", ...saidBy(ready), reason: "NotObserved", message };
  }
  return { state: states[ready.status], ...saidBy(ready) };
}

const states = { True: "Ready", False: "NotReady", Unknown: "Unknown" } as const;

function saidBy(ready: Condition | undefined): Omit<HubView, "state"> {
  return {
    reason: ready?.reason ?? null,
    message: ready?.message ?? null,
    since: ready?.lastTransitionTime ?? null,
  };
}
