import { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { listAt, recordAt, textAt } from "../../api/fields.ts";
import type { ClusterUser } from "./protection.ts";

/** Who the controller is on a cluster, and what time it is there. */
export interface SelfReview extends ClusterUser {
  /** Wall clock of the API server in ms since 1970; undefined when it does not say. */
  readonly serverTimeMs: number | undefined;
}

const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

/** Asks a cluster who we are there. Throws ApiError, and a plain Error when the answer has no user name. */
export async function whoAmI(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<SelfReview> {
  const path = `/apis/${review.apiVersion}/selfsubjectreviews`;
  const answer = await client.request("POST", path, review, signal);
  const user = recordAt(answer, "status", "userInfo");
  const username = textAt(user, "username") ?? "";
  if (username === "") throw new Error("The cluster does not say who the controller is there");
  const groups = listAt(user, "groups").filter((group) => typeof group === "string");
  const time = Date.parse(textAt(recordAt(answer, "metadata"), "creationTimestamp") ?? "");
  return { username, groups, serverTimeMs: Number.isNaN(time) ? undefined : time };
}

/** Who the controller is on a cluster, asked ahead where that is known to be needed soon. */
export class SelfQuestion {
  readonly #way: { readonly client: Pick<KubeClient, "request">; readonly signal: AbortSignal };
  #asked: Promise<SelfReview> | undefined;

  constructor(way: { readonly client: Pick<KubeClient, "request">; readonly signal: AbortSignal }) {
    this.#way = way;
  }

  /** What fails is asked again, and told then, when the answer is needed. */
  askAhead(): void {
    if (this.#asked !== undefined) return;
    const asked = whoAmI(this.#way.client, this.#way.signal);
    this.#asked = asked;
    asked.catch(() => {
      if (this.#asked === asked) this.#asked = undefined;
    });
  }

  /** The answer that was asked for ahead, once, or a new one. */
  answer(signal: AbortSignal): Promise<SelfReview> {
    const asked = this.#asked ?? whoAmI(this.#way.client, signal);
    this.#asked = undefined;
    return asked;
  }
}

/** Whether a cluster serves validating admission policies, v1. */
export async function servesPolicies(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const path = "/apis/admissionregistration.k8s.io/v1";
    const answer = await client.request("GET", path, undefined, signal);
    const names = listAt(recordAt(answer), "resources").map((one) => textAt(recordAt(one), "name"));
    return (
      names.includes("validatingadmissionpolicies") &&
      names.includes("validatingadmissionpolicybindings")
    );
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
