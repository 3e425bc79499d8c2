import { foreignText } from "../../api/foreign-text.ts";
import type { Code } from "../../api/reasons.ts";
import {
  denyingMutationIn,
  denyingPolicyIn,
  denyingWebhookIn,
  quotaIn,
  silentWebhookIn,
} from "../../api/refusal-texts.ts";
import { denials, silences } from "../../api/sentences.ts";
import type { ApiErrorFacts } from "./api-error.ts";
import { deniedRightIn } from "./missing-right.ts";

/** An answer, or what somebody else tells of one: its status is not known then. */
export interface ToldRefusal {
  readonly status: number | undefined;
  readonly message: string;
  /** Absent: a Status. */
  readonly isStatus?: boolean;
}

/** What stands in the way of a write that a cluster refuses, in words of ours; undefined where that is not said. */
export function obstacleIn({ status, message }: ToldRefusal): string | undefined {
  const denial = denialIn(message);
  if (denial !== undefined) return denial;
  if (isTooLarge(message)) return `it ${tooLarge}`;
  const quota = status === undefined || status === 403 ? quotaIn(message) : undefined;
  if (quota !== undefined) return `the quota ${quota} is exhausted`;
  const webhook = silentWebhookIn(message);
  return webhook === undefined ? undefined : silences.webhook.of(webhook);
}

/**
 * The finer cause of a refusal: a webhook or policy does not take the object, a webhook does not answer, or, with status 403, a right is missing. Undefined where an
 * admission plugin of the API server refuses for another reason, such as a quota or a namespace that is being deleted.
 */
export function codeOfRefusal({ status, message, isStatus }: ToldRefusal): Code | undefined {
  if (denialIn(message) !== undefined) return "AdmissionRefused";
  if (silentWebhookIn(message) !== undefined) return "WebhookSilent";
  // A 403 without a Status is that of a proxy, which has a right of its own.
  const lacksRight = isStatus === false || isRightMissing(message);
  return status === 403 && lacksRight ? "Forbidden" : undefined;
}

/** Whether the API server says that the user lacks a right on a resource or a path, or those of a role that it makes or binds. */
export function isRightMissing(text: string): boolean {
  return deniedRightIn(text) !== undefined || / cannot \w+ path "/.test(text) || isEscalation(text);
}

/** Whether a role is refused that has rights which its writer lacks. */
export function isEscalation(text: string): boolean {
  return /attempting to grant|must have cluster-admin privileges/.test(text);
}

/** What was not possible, and what the server says stands in the way of it. */
export function withObstacle(
  sentence: string,
  refusal: Pick<ApiErrorFacts, "status" | "message">,
): string {
  const obstacle = obstacleIn(refusal);
  return obstacle === undefined ? sentence : `${sentence}: ${obstacle}`;
}

const longestRefusal = 400;

/** Why a server will refuse the same write again, in words of ours or, bounded, in its own; undefined for an answer that may pass. */
export function lastingRefusalIn({ status, message }: ApiErrorFacts): string | undefined {
  const obstacle = obstacleIn({ status, message });
  if (obstacle !== undefined) return obstacle;
  return [400, 403, 422].includes(status) ? foreignText(message, longestRefusal) : undefined;
}

/** Whether a refusal (403) says that its namespace takes nothing new, because it is being deleted. A webhook may say so, too; see `denialIn`. */
export function isNamespaceLeaving(text: string): boolean {
  return /unable to create new content in namespace .{1,253} because it is being terminated/.test(
    text,
  );
}

/** Who refused on the cluster's behalf, with a status of its own choice. */
export function denialIn(text: string): string | undefined {
  const webhook = denyingWebhookIn(text);
  if (webhook !== undefined) return denials.webhook.of(webhook);
  const policy = denyingPolicyIn(text);
  if (policy !== undefined) return denials.policy.of(policy);
  const mutation = denyingMutationIn(text);
  return mutation === undefined ? undefined : denials.mutation.of(mutation);
}

/** What is said of an object of which `isTooLarge` is true. */
export const tooLarge = "is larger than the cluster can store";

/** Texts of etcd, of its client in the API server, and of what the API server checks for ConfigMaps and Secrets. */
export function isTooLarge(text: string): boolean {
  return /etcdserver: request is too large|trying to send message larger than max|Too long: (?:may not be more than|must have at most) 1048576 bytes/.test(
    text,
  );
}

/** Whether a server says of a patch that it can never be right; it does so with status 500. */
export function isBadPatch(text: string): boolean {
  return text.includes("failed to create typed patch object");
}
