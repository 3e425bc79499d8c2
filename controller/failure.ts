import { ApiError, ConnectionError } from "../access/api-error.ts";
import { FleetError } from "../api/errors.ts";

/**
 * Anything that was caught on the way, as the error that is shown: messages of ours only, what a server said becomes the
 * `cause`. `cluster` names the target, for example `ClusterProfile fleet/a` or `The hub`.
 */
export function fleetErrorOf(error: unknown, cluster: string): FleetError {
  if (error instanceof FleetError) return error;
  if (error instanceof ConnectionError) return unreachable(error, cluster);
  if (error instanceof ApiError) return refused(error, cluster);
  return new FleetError("ApplyFailed", "Internal error, see the log of the controller", {
    cause: error,
  });
}

function unreachable(error: ConnectionError, cluster: string): FleetError {
  const code = error.failure === "untrusted" ? "TLSUntrusted" : "Unreachable";
  return new FleetError("RemoteClientCreationFailed", `${cluster}: ${error.message}`, {
    code,
    cause: error,
  });
}

function refused(error: ApiError, cluster: string): FleetError {
  const options = { cause: error };
  if (error.status === 401) {
    return new FleetError("AccessProviderFailed", `${cluster}: the credential is not accepted`, {
      code: "CredentialRejected",
      ...options,
    });
  }
  const request = error.request.replace(/\?.*$/, "");
  if (error.status === 403) {
    return new FleetError("ApplyFailed", `${cluster}: ${request} is not allowed`, {
      code: "Forbidden",
      ...options,
    });
  }
  const answer = error.reason === "" ? `${error.status}` : `${error.status} ${error.reason}`;
  return new FleetError("ApplyFailed", `${cluster}: ${request} was answered ${answer}`, options);
}
