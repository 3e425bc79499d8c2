import { ApiError } from "../../access/kube/api-error.ts";

/** For `catch`: undefined when a right is missing; throws everything else again. */
export function ifDenied(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 403) return;
  throw error;
}
