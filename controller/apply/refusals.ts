import { ApiError, type ApiErrorFacts, type StatusCause } from "../../access/kube/api-error.ts";
import { missingRightIn } from "../../access/kube/missing-right.ts";
import {
  denialIn,
  isBadPatch,
  isEscalation,
  isTooLarge,
  obstacleIn,
  tooLarge,
} from "../../access/kube/obstacle.ts";
import { groupOf, type ObjectKey } from "../../api/kubernetes.ts";
import { silentWebhookIn, uncountedQuotaIn } from "../../api/refusal-texts.ts";
import { denials, namespaceGoes, silences } from "../../api/sentences.ts";
import type { Trouble } from "./change-set.ts";

/** The object and the way in which it was sent. */
export interface Attempted {
  readonly key: ObjectKey;
  /** See gates.ts. */
  readonly isOfNewKind: boolean;
  /** The object binds a role that was given up in this run. */
  readonly lacksRole: boolean;
  /** Namespace of the installation, which exists when the first object is sent. */
  readonly installNamespace: string;
}

/** What follows a refusal. Messages are short and stable, and hold no text of the server. */
export type Refusal =
  /** Comes right by itself soon. */
  | { readonly kind: "temporary"; readonly message: string; readonly retryAfterMs?: number }
  /** Waits for something on the cluster that takes minutes or a person. */
  | { readonly kind: "parked"; readonly message: string }
  /** The server will never take this input. */
  | { readonly kind: "permanent"; readonly message: string }
  /** The present object causes the refusal. A retry may pass after a takeover or a deletion of that object. */
  | { readonly kind: "invalid"; readonly message: string }
  /** The installation's namespace is going or gone: nothing else will work either. */
  | { readonly kind: "busy"; readonly message: string };

/** The webhook that does not answer, from the message of a refusal. Undefined for other messages. */
export function webhookIn(message: string): string | undefined {
  return silences.waiting.wordsIn(message)?.[0];
}

type Facts = Pick<ApiErrorFacts, "status" | "message" | "causes" | "isStatus" | "retryAfterMs">;

/** Sorts the refusals of a server-side apply. Spec: engine-facts.md 1 and Algorithm. */
export function refusalOf(error: Facts, attempted: Attempted): Refusal {
  const denial = denialIn(error.message);
  if (denial !== undefined) return { kind: "permanent", message: `Not allowed: ${denial}` };
  switch (error.status) {
    case 404:
      return notFound(error, attempted);
    case 403:
      return forbidden(error, attempted);
    case 422:
      return invalid(error, attempted);
    case 500:
      return internal(error);
    case 408:
    case 409:
    case 429:
    case 502:
    case 503:
    case 504:
      return temporary(error);
    default:
      return { kind: "permanent", message: `Refused with status ${error.status}` };
  }
}

/** Whether an answer says only that the server is overloaded, fails or has still to count a quota, and names no other obstacle. Spec: security.md C11. */
export function isOverloaded(error: Facts): boolean {
  if (obstacleIn(error) !== undefined) return false;
  if (error.status === 403) return uncountedQuotaIn(error.message) !== undefined;
  if (error.status === 500) return internal(error).kind === "temporary";
  return [408, 429, 502, 503, 504].includes(error.status);
}

// A server that asks for more is asked then whether it still means it. Spec: security.md C11.
export const longestAskedMs = 60_000;

/** How long an overloaded or failing server asks for no request, in ms, at most a minute. 0 when it does not ask. */
export function askedMsOf({ status, retryAfterMs = 0 }: Facts): number {
  return status === 429 || status >= 500 ? Math.min(longestAskedMs, retryAfterMs) : 0;
}

/** The time of `askedMsOf` as a field of a Trouble. Empty when the server does not ask. */
export function askedIn(error: Facts): Pick<Trouble, "askedMs"> {
  const askedMs = askedMsOf(error);
  return askedMs > 0 ? { askedMs } : {};
}

/** A refusal that is not tried again in this attempt. */
export interface Refused {
  readonly trouble: Trouble;
  /** Counts as failed, and not as parked. */
  readonly isForGood: boolean;
}

/** Sorts the refusal of a change to an object that is there. */
export function refusedOf(
  error: Facts,
  { key, installNamespace }: Pick<Attempted, "key" | "installNamespace">,
): Refused {
  const attempted = { key, isOfNewKind: false, lacksRole: false, installNamespace };
  const { kind, message } = refusalOf(error, attempted);
  const isForGood = kind === "permanent" || kind === "invalid";
  return { trouble: { key, message, ...(isForGood ? {} : askedIn(error)) }, isForGood };
}

/** The answer to a question that is not worth the work it belongs to, or `none` when it is refused. */
export async function unlessRefused<Answer>(
  ask: () => Promise<Answer>,
  none: Answer,
): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ApiError) return none;
    throw error;
  }
}

function notFound(error: Facts, attempted: Attempted): Refusal {
  const { key, isOfNewKind, lacksRole, installNamespace } = attempted;
  if (!error.isStatus) {
    const message = `The cluster does not serve ${key.apiVersion} ${key.kind}`;
    return isOfNewKind ? { kind: "temporary", message } : { kind: "parked", message };
  }
  if (!/\bnamespaces "/.test(error.message)) {
    // A user without the right `bind` needs all rights of the role. Only the role itself lists them.
    return lacksRole ? { kind: "parked", message: "Waiting for its role" } : temporary(error);
  }
  const message = namespaceGoes.missing.of(key.namespace ?? "");
  return { kind: key.namespace === installNamespace ? "busy" : "parked", message };
}

function forbidden({ message, causes }: Facts, { key, installNamespace }: Attempted): Refusal {
  if (/because it is being terminated/.test(message)) {
    const text = namespaceGoes.deleted.of(key.namespace ?? "");
    return { kind: key.namespace === installNamespace ? "busy" : "parked", message: text };
  }
  // A namespace may get its quota at birth, from Kyverno, Capsule or OpenShift.
  const quota = uncountedQuotaIn(message);
  if (quota !== undefined) {
    return { kind: "temporary", message: `The cluster has still to count the quota ${quota}` };
  }
  return { kind: "permanent", message: forbiddenMessage(message, causes.length > 0, key) };
}

function forbiddenMessage(text: string, hasCauses: boolean, key: ObjectKey): string {
  if (isEscalation(text)) {
    return "Not allowed: the controller lacks the verbs bind and escalate on rbac.authorization.k8s.io";
  }
  const obstacle = obstacleIn({ status: 403, message: text });
  if (obstacle !== undefined) return `Not allowed: ${obstacle}`;
  const right = missingRightIn(text);
  if (right !== undefined) return `Not allowed: the controller lacks ${right}`;
  if (hasCauses || /denied the request|ValidatingAdmissionPolicy/.test(text)) {
    return `Not allowed: ${denials.other.of()}`;
  }
  const where = key.namespace === undefined ? "" : ` in namespace ${key.namespace}`;
  return `Not allowed: ${key.kind}${where} is refused with status 403`;
}

function invalid({ message, causes }: Facts, { key }: Attempted): Refusal {
  // Includes the fields of other writers.
  if (isTooLarge(message)) return { kind: "invalid", message: `It ${tooLarge}` };
  const controller = controllerIn(causes);
  if (controller !== undefined) {
    return {
      kind: "invalid",
      message: `Something else controls it: ${controller.replace("/", " ")}`,
    };
  }
  const fields = causes.flatMap(({ field }) => (field === undefined ? [] : [field]));
  const named = [...new Set(fields.filter(isPlainPath))].toSorted().slice(0, 3);
  const where = named.length === 0 ? "" : `: ${named.join(", ")}`;
  const problem = isImmutable(key, causes)
    ? "It cannot be changed, only be deleted and made anew"
    : "Invalid";
  return { kind: "invalid", message: `${problem}${where}` };
}

/** Name of the controlling owner of an object, which can have only one. */
function controllerIn(causes: readonly StatusCause[]): string | undefined {
  const texts = causes.map(({ message = "" }) => message);
  const pattern =
    /have Controller set to true\. Found "true" in references for ([\w./-]{1,300}) and /;
  return texts.map((text) => pattern.exec(text)?.[1]).find((name) => name !== undefined);
}

function internal(error: Facts): Refusal {
  if (isBadPatch(error.message)) {
    return {
      kind: "permanent",
      message: "Invalid: a field is unknown, doubled or of a wrong type",
    };
  }
  if (isTooLarge(error.message)) return { kind: "permanent", message: `It ${tooLarge}` };
  const webhook = silentWebhookIn(error.message);
  if (webhook !== undefined) return { kind: "parked", message: silences.waiting.of(webhook) };
  if (/conversion webhook for/.test(error.message)) {
    return { kind: "parked", message: "Waiting for a conversion webhook" };
  }
  return temporary(error);
}

function temporary({ status, retryAfterMs }: Facts): Refusal {
  return {
    kind: "temporary",
    message: `The API server answers with status ${status}`,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

// Paths come from the server, but only their shape is let through.
function isPlainPath(field: string): boolean {
  return /^[\w.[\]"=/-]{1,120}$/.test(field);
}

const refusal =
  /immutable|cannot change roleRef|may not change once set|updates to statefulset spec/i;

/** Whether a server refused a change of an immutable field. False for an invalid value. */
function isImmutable({ kind }: ObjectKey, causes: readonly StatusCause[]): boolean {
  return causes.some(
    ({ field, message = "" }) =>
      refusal.test(message) ||
      // The message begins with the whole template, and may be cut before the reason.
      (kind === "Job" && field === "spec.template"),
  );
}

/**
 * Kinds whose objects may be deleted and created again when the server refuses a change. The manifest or the cluster restores everything in such an
 * object, and nothing that runs stops: a Job has to run again for its new content anyway, and a binding is back at once.
 *
 * Not in the list: Deployments, StatefulSets and DaemonSets (their pods would stop), Services (other programs use their addresses), ConfigMaps and
 * Secrets (other writers may have put data there), and kinds whose deletion deletes other objects: CustomResourceDefinitions, Namespaces,
 * PersistentVolumeClaims, custom resources.
 */
const replaceableKinds = new Set([
  "batch/Job",
  "rbac.authorization.k8s.io/ClusterRoleBinding",
  "rbac.authorization.k8s.io/RoleBinding",
]);

/** Whether an object of ours may be deleted and made again because of this refusal. */
export function isReplaceable(key: ObjectKey, causes: readonly StatusCause[]): boolean {
  return isImmutable(key, causes) && replaceableKinds.has(`${groupOf(key.apiVersion)}/${key.kind}`);
}
