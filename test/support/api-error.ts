import { ApiError } from "../../access/kube/api-error.ts";

/** An error as an API server answers it with a Status. */
export function apiError(
  status: number,
  reason: string,
  message: string = reason,
  retryAfterMs?: number,
): ApiError {
  return new ApiError({
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    status,
    reason,
    message,
    causes: [],
    isStatus: true,
    request: "PUT /memory",
  });
}
