import { ApiError, foreignAnswerError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { listAt, recordAt, textAt } from "../../api/fields.ts";
import type { ClusterUser } from "./protection.ts";

/** The user of the controller on a cluster, and the time of the cluster. */
export interface SelfReview extends ClusterUser {
  /** Wall clock of the API server in ms since 1970. Undefined when the answer has no time. */
  readonly serverTimeMs: number | undefined;
}

const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

/** Asks a cluster for the user of the controller. Throws ApiError, and ConnectionError `standIn` when the answer has no user name. */
export async function whoAmI(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<SelfReview> {
  const path = `/apis/${review.apiVersion}/selfsubjectreviews`;
  const answer = await client.request("POST", path, review, signal);
  const user = recordAt(answer, "status", "userInfo");
  const username = textAt(user, "username") ?? "";
  if (username === "") throw foreignAnswerError("a SelfSubjectReview without a user name");
  const groups = listAt(user, "groups").filter((group) => typeof group === "string");
  const time = Date.parse(textAt(recordAt(answer, "metadata"), "creationTimestamp") ?? "");
  return { username, groups, serverTimeMs: Number.isNaN(time) ? undefined : time };
}

interface SelfConnection {
  readonly client: Pick<KubeClient, "request">;
  readonly signal: AbortSignal;
}

/** Asks for the user of the controller on a cluster, also before the answer is needed. */
export class SelfQuestion {
  readonly #connection: SelfConnection;
  #early: Promise<SelfReview> | undefined;

  constructor(connection: SelfConnection) {
    this.#connection = connection;
  }

  /** Sends the question early. A failure is dropped, so that `ask` sends it again. */
  askEarly(): void {
    if (this.#early !== undefined) return;
    const early = whoAmI(this.#connection.client, this.#connection.signal);
    this.#early = early;
    early.catch(() => {
      if (this.#early === early) this.#early = undefined;
    });
  }

  /** The answer to the early question, which serves once, or to a new question. */
  ask(signal: AbortSignal): Promise<SelfReview> {
    const answer = this.#early ?? whoAmI(this.#connection.client, signal);
    this.#early = undefined;
    return answer;
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
    const names = listAt(recordAt(answer), "resources").map((entry) =>
      textAt(recordAt(entry), "name"),
    );
    return (
      names.includes("validatingadmissionpolicies") &&
      names.includes("validatingadmissionpolicybindings")
    );
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
