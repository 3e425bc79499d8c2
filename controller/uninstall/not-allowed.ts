import type { ApiError } from "../../access/kube/api-error.ts";
import { codeOfRefusal, withObstacle } from "../../access/kube/obstacle.ts";
import { FleetError } from "../../api/errors.ts";

/** What the target cluster does not allow (403) in a removal, and what it says stands in the way: a right, a webhook or a policy. `doing` begins the message. */
export function notAllowed(doing: string, cause: ApiError): FleetError {
  const message = withObstacle(`${doing} is not allowed on the target cluster`, cause);
  return new FleetError("ApplyFailed", message, { code: codeOfRefusal(cause), cause });
}
