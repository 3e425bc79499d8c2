import type { Code } from "../../api/reasons.ts";
import type { ApiErrorFacts } from "./api-error.ts";

/** What stands in the way of a write that a cluster refuses, in words of ours; undefined where that is not said. */
export function obstacleIn(text: string): string | undefined {
  const denier = denierIn(text);
  if (denier !== undefined) return `${denier} denies it`;
  if (isTooLarge(text)) return `it ${tooLarge}`;
  const quota = /exceeded quota: ([\w.-]{1,253})/.exec(text)?.[1];
  if (quota !== undefined) return `the quota ${quota} is exhausted`;
  const webhook = silentWebhookIn(text);
  return webhook === undefined ? undefined : `the webhook ${webhook} does not answer`;
}

/** The finer cause of a refusal: a webhook or policy does not take the object, a webhook does not answer, or, with status 403, a right is missing. */
export function codeOfRefusal({
  status,
  message,
}: Pick<ApiErrorFacts, "status" | "message">): Code | undefined {
  if (denierIn(message) !== undefined) return "AdmissionRefused";
  if (silentWebhookIn(message) !== undefined) return "WebhookSilent";
  // A quota, for example, is no missing right.
  return status === 403 && obstacleIn(message) === undefined ? "Forbidden" : undefined;
}

/** What was not possible, and what the server says stands in the way of it. */
export function withObstacle(
  sentence: string,
  { message }: Pick<ApiErrorFacts, "message">,
): string {
  const obstacle = obstacleIn(message);
  return obstacle === undefined ? sentence : `${sentence}: ${obstacle}`;
}

/** Whether a refusal (403) says that its namespace takes nothing new, because it is being deleted. A webhook may say so, too; see `denierIn`. */
export function isNamespaceLeaving(text: string): boolean {
  return /unable to create new content in namespace .{1,253} because it is being terminated/.test(
    text,
  );
}

/** Who refused on the cluster's behalf, with a status of its own choice; see the texts of k8s.io/apiserver. */
export function denierIn(text: string): string | undefined {
  const webhook = /admission webhook "([\w.-]{1,253})" denied the request/.exec(text)?.[1];
  if (webhook !== undefined) return `the admission webhook ${webhook}`;
  const policy = /ValidatingAdmissionPolicy '([\w.-]{1,253})' .{0,300}denied request/.exec(
    text,
  )?.[1];
  return policy === undefined ? undefined : `the ValidatingAdmissionPolicy ${policy}`;
}

/** The webhook that the API server could not ask. */
export function silentWebhookIn(text: string): string | undefined {
  return /failed calling webhook "([\w.-]{1,253})"/.exec(text)?.[1];
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
