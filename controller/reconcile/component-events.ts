import type { Component } from "../../api/component.ts";
import { describe, nameFirst, type ObjectKey } from "../../api/kubernetes.ts";
import type { Unblocked } from "../apply/unblock.ts";
import type { NewEvent } from "../events.ts";
import { failedJobsMessage } from "./progress.ts";

const maxNamed = 3;

/** The Event about repaired objects, which others had deleted or changed; undefined without any. */
export function repairEvent({
  repaired,
}: {
  readonly repaired: readonly ObjectKey[];
}): NewEvent | undefined {
  if (repaired.length === 0) return undefined;
  const names = repaired.map(describe).toSorted();
  const message = `Put right what was deleted or changed: ${nameFirst(names, maxNamed)}`;
  return { type: "Normal", reason: "Repaired", message };
}

/** The Event about failed Jobs; undefined without any. `news` has a sentence for each Job that had no Event yet. */
export function failedJobsEvent(news: readonly string[]): NewEvent | undefined {
  const message = failedJobsMessage(news);
  return message === undefined ? undefined : { type: "Warning", reason: "JobFailed", message };
}

/** The Event about an anchor that is gone with all objects that it owned. */
export function anchorLostEvent(cluster: string): NewEvent {
  const message = `The anchor of this installation is gone from ${cluster}; everything is installed again`;
  return { type: "Warning", reason: "AnchorLost", message };
}

/** The Event about a webhook whose rules were emptied; see apply/unblock.ts. */
export function webhookUnblockedEvent({ webhook, configuration }: Unblocked): NewEvent {
  const message = `Emptied the rules of ${configuration}: for minutes nobody answered for ${webhook}, without which the cluster refuses ConfigMaps that its pods need; they fill them again`;
  return { type: "Warning", reason: "WebhookUnblocked", message };
}

/** The Event about adopted objects of the upstream operator; see apply/adoption/adopt.ts. */
export function adoptedEvent(count: number, cluster: string): NewEvent {
  const message = `Took over ${count} objects that the upstream operator installed on ${cluster}`;
  return { type: "Normal", reason: "Adopted", message };
}

/** The Event about objects that another controller of knfleet managed for this component; see hand-over.ts. */
export function takenOverEvent(count: number, cluster: string): NewEvent {
  const message = `Took over ${count} objects on ${cluster} that another controller of knfleet installed for this component`;
  return { type: "Normal", reason: "TakenOver", message };
}

/** Tells which spokes get the same token; implemented by PathMetrics. */
export interface TokenSharers {
  /** `namespace/name` of the ClusterProfiles that have the token of this one, and another server. */
  sharers(spoke: string): readonly string[];
}

/**
 * The Event about a cluster that shares its credential with others; undefined when the last Event said the same. It does not name the other clusters, because readers of the
 * component may not be allowed to know them; the log names them. Security: T-21.
 */
export function takeSharedCredentialEvent(
  component: Component,
  installation: { sharedWith: string },
  tokens: TokenSharers,
): NewEvent | undefined {
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
