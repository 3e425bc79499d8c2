import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { withTimeout } from "../../access/time/deadline.ts";
import { isRecord } from "../../api/fields.ts";
import { createBriefMemory } from "./brief-memory.ts";
import type { UserInfo } from "./review.ts";

/** What a user wants to do to which object. The fields are those of `SubjectAccessReview.spec.resourceAttributes`. */
export interface Attempt {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  /** Absent: every object. */
  readonly name?: string;
}

/** Asks the cluster what users may do. */
export interface AccessReviews {
  /**
   * Whether the user of a request may do something, by a SubjectAccessReview with the user's name, uid, groups and extra unchanged.
   * Rejects when the cluster does not answer within a second, or when the signal aborts. A caller must not take that for a yes.
   */
  may(user: UserInfo, attempt: Attempt, signal: AbortSignal): Promise<boolean>;
}

// Security: T-03. A right that was taken away is noticed after ten seconds at most, a right that was given after two.
const allowedMs = 10_000;
const deniedMs = 2_000;
const limitMs = 1_000;
const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Access reviews by the cluster of a client, remembered for seconds. */
export function createAccessReviews(
  client: Pick<KubeClient, "request">,
  clock: Clock,
): AccessReviews {
  const remembered = createBriefMemory<boolean>(clock, (allowed) =>
    allowed ? allowedMs : deniedMs,
  );
  return {
    may: (user, attempt, signal) => {
      const spec = specOf(user, attempt);
      return remembered(spec, async () => {
        const limited = withTimeout(clock, limitMs, signal);
        const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
        return isAllowed(await client.request("POST", path, body, limited));
      });
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
