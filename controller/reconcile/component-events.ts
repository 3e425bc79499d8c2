import type { Component } from "../../api/component.ts";
import { describe, type ObjectKey } from "../../api/kubernetes.ts";
import type { Unblocked } from "../apply/unblock.ts";
import type { ComponentEvent } from "../events.ts";
import { failedJobsMessage } from "./progress.ts";

const maxNamed = 3;

/** What is worth an Event of objects that somebody else had deleted or changed; undefined: nothing. */
export function repairEvent({
  repaired,
}: {
  readonly repaired: readonly ObjectKey[];
}): ComponentEvent | undefined {
  if (repaired.length === 0) return undefined;
  const names = repaired.map(describe).toSorted();
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : "";
  const named = names.slice(0, maxNamed).join(", ");
  const message = `Put right what was deleted or changed: ${named}${more}`;
  return { type: "Normal", reason: "Repaired", message };
}

/** What is worth an Event of Jobs that failed; `news` has a sentence for each of which nobody was told yet. Undefined: nothing. */
export function failedJobsEvent(news: readonly string[]): ComponentEvent | undefined {
  const message = failedJobsMessage(news);
  return message === undefined ? undefined : { type: "Warning", reason: "JobFailed", message };
}

/** The anchor of an installation is gone, and with it what it owned. */
export function anchorLostEvent(cluster: string): ComponentEvent {
  const message = `The anchor of this installation is gone from ${cluster}; everything is installed again`;
  return { type: "Warning", reason: "AnchorLost", message };
}

/** The rules of a webhook were emptied; see apply/unblock.ts. */
export function webhookUnblockedEvent({ webhook, configuration }: Unblocked): ComponentEvent {
  const message = `Emptied the rules of ${configuration}: for minutes nobody answered for ${webhook}, without which the cluster refuses ConfigMaps that its pods need; they fill them again`;
  return { type: "Warning", reason: "WebhookUnblocked", message };
}

/** What upstream's operator had installed is managed from here now; see apply/adopt.ts. */
export function adoptedEvent(count: number, cluster: string): ComponentEvent {
  const message = `Took over ${count} objects that the upstream operator installed on ${cluster}`;
  return { type: "Normal", reason: "Adopted", message };
}

/** Which spokes were given the same token; PathMetrics has it. */
export interface TokenSharers {
  /** `namespace/name` of the ClusterProfiles that have the token of this one, and another server. */
  sharers(spoke: string): readonly string[];
}

/**
 * The Event that the cluster of a component shares its credential with others, when that is news. It does not name them: who may
 * see a component need not know of other clusters; the log does. Security: T-21.
 */
export function sharedCredentialEvent(
  component: Component,
  installation: { sharedWith: string },
  tokens: TokenSharers,
): ComponentEvent | undefined {
  const ref = component.spec?.clusterProfileRef;
  if (ref === undefined) return undefined;
  const sharers = tokens.sharers(`${ref.namespace}/${ref.name}`);
  const before = installation.sharedWith;
  installation.sharedWith = sharers.join();
  if (sharers.length === 0 || installation.sharedWith === before) return undefined;
  const many = sharers.length === 1 ? "another ClusterProfile" : `${sharers.length} others`;
  const message =
    `The token for ClusterProfile ${ref.namespace}/${ref.name} is also sent to the server of ${many}, ` +
    "and whoever runs one of them could use it at the others; the log names them";
  return { type: "Warning", reason: "SharedCredential", message };
}
