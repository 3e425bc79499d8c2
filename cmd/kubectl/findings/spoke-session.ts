import { RequestCounters } from "../../../access/http/request-counters.ts";
import { AuthorizedRequester } from "../../../access/http/requester.ts";
import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { Credential } from "../../../access/plugins/credential.ts";
import type { ResolvedAccess } from "../../../access/spokes/resolved-access.ts";
import { addressGuardOf } from "../../../access/spokes/spoke-deps.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { sharingOf } from "../../../controller/guard/protection.ts";
import { type SelfReview, whoAmI } from "../../../controller/guard/whoami.ts";
import { userAgent } from "../client-version.ts";
import { readKubernetesVersion } from "../spokes/kubernetes-version.ts";
import { requestFinding, spokeServer } from "./explain-error.ts";
import { failed, failedBy, finding, type HopResult, passedWith } from "./hops/hop.ts";
import type { WalkContext } from "./walk.ts";

/** A connection to a spoke that accepts our credential. */
export interface SpokeSession {
  readonly client: KubeClient;
  readonly gitVersion: string | undefined;
  /** Undefined when the spoke does not say. */
  readonly user: SelfReview | undefined;
}

/** A client for the spoke with a credential that the walk has obtained. The connection ends with the walk. */
export function spokeClient(
  access: ResolvedAccess,
  credential: Credential,
  { environment, onRequest, closing }: WalkContext & { readonly closing: AsyncDisposableStack },
): KubeClient {
  const requester = new AuthorizedRequester({
    clock: systemClock,
    endpoint: access.endpoint,
    userAgent,
    counters: new RequestCounters(systemClock),
    credentials: { current: () => Promise.resolve(credential), reject: () => undefined },
    guard: addressGuardOf(access, { environment }),
    ...(onRequest === undefined ? {} : { onRequest }),
  });
  // Closing a connection to a silent server takes seconds; the walk does not wait for it.
  closing.defer(() => void requester[Symbol.asyncDispose]().then(undefined, () => undefined));
  return createKubeClient(requester);
}

/** Checks whether the API server accepts the credential, and asks for its user. */
export async function authenticate(
  client: KubeClient,
  signal: AbortSignal,
): Promise<HopResult<SpokeSession>> {
  let gitVersion: string | undefined;
  try {
    gitVersion = await readKubernetesVersion(client, signal);
    if (gitVersion === undefined) {
      return failed("KNF4015", `${client.server} answers GET /version with something else`);
    }
  } catch (error) {
    signal.throwIfAborted();
    // A 403 means that the API server knows the user.
    if (!(error instanceof ApiError && error.status === 403))
      return failedVersion(error, client.server);
  }
  const user = await whoAmI(client, signal).catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 401) throw error;
    signal.throwIfAborted();
    return undefined;
  });
  const session = { client, gitVersion, user };
  if (user === undefined) {
    const message = "The spoke does not say who we are";
    return passedWith(session, message, { findings: [finding("warning", "KNF5003", { message })] });
  }
  return sessionResult(session, user);
}

function failedVersion(error: unknown, server: string): HopResult<never> {
  const refusal = error instanceof ConnectionError ? error.cause : error;
  // Without an ApiError the answer was a success that is no JSON.
  const status = refusal instanceof ApiError ? refusal.status : 200;
  const isForeign =
    status === 404 || (error instanceof ConnectionError && error.failure === "standIn");
  if (!isForeign) return failedBy(requestFinding(error, spokeServer));
  return failed(
    "KNF4015",
    `${server}/version is answered ${status}, and not as an API server does`,
  );
}

function sessionResult(session: SpokeSession, user: SelfReview): HopResult<SpokeSession> {
  const text = `as ${user.username}`;
  if (user.username === "system:anonymous") {
    return failed("KNF5001", "The spoke takes us for nobody (system:anonymous)");
  }
  const sharing = sharingOf(user);
  const message = `${user.username} ${sharing ?? ""}`;
  const findings = sharing === undefined ? [] : [finding("warning", "KNF5004", { message })];
  return passedWith(session, text, { findings, evidence: [`groups ${user.groups.join(", ")}`] });
}
