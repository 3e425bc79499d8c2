import type { KubeClient } from "../../access/kube/kube-client.ts";
import { isRecord } from "../../api/fields.ts";
import type { UserInfo } from "./review.ts";

/** What somebody wants to do to which object; fields of `SubjectAccessReview.spec.resourceAttributes`. */
export interface Attempt {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Asks the cluster what users may do. */
export interface AccessReviews {
  /**
   * Whether the user of a request may do something, by a SubjectAccessReview with the user's name, uid, groups and extra unchanged.
   * Rejects when the cluster does not answer within a second or the signal aborts: that is never a yes.
   */
  may(user: UserInfo, attempt: Attempt, signal: AbortSignal): Promise<boolean>;
}

interface Known {
  readonly allowed: boolean;
  readonly untilMs: number;
}

// Security: T-03. A right that was taken away is missed for ten seconds at most, one that was given for two.
const keptMs = { allowed: 10_000, denied: 2_000 } as const;
const maxKnown = 1_000;
const limitMs = 1_000;
const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Reviews by the cluster of a client, remembered for seconds. `now` is a monotonic clock in milliseconds. */
export function createAccessReviews(
  client: Pick<KubeClient, "request">,
  now: () => number,
): AccessReviews {
  const known = new Map<string, Known>();
  const remember = (key: string, allowed: boolean) => {
    known.delete(key);
    known.set(key, { allowed, untilMs: now() + keptMs[allowed ? "allowed" : "denied"] });
    const [oldest] = known.keys();
    if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
  };
  return {
    async may(user, attempt, signal) {
      const spec = specOf(user, attempt);
      const key = JSON.stringify(spec);
      const found = known.get(key);
      if (found !== undefined && now() < found.untilMs) return found.allowed;
      const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
      const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
      const allowed = isAllowed(await client.request("POST", path, body, limited));
      remember(key, allowed);
      return allowed;
    },
  };
}

function specOf({ username, uid, groups, extra }: UserInfo, attempt: Attempt): object {
  return {
    user: username,
    ...(uid === undefined ? {} : { uid }),
    groups,
    extra,
    resourceAttributes: attempt,
  };
}

function isAllowed(review: unknown): boolean {
  if (!isRecord(review) || !isRecord(review["status"])) throw new Error("The review has no status");
  return review["status"]["allowed"] === true;
}
