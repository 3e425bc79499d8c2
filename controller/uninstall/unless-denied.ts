import { ApiError } from "../../access/kube/api-error.ts";

/**
 * The answer to a question that keeps nobody from work which may be allowed; undefined where it is refused (403), or not known to the server (404). Rejects with every
 * other answer: who has no time, or fails, says nothing of what was asked, and may answer the next time.
 */
export async function unlessDenied<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && [403, 404].includes(error.status)) return undefined;
    throw error;
  }
}
