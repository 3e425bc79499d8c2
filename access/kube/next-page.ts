import { ApiError } from "./api-error.ts";

/** What says which part of a list is wanted. */
export interface PageQuery {
  readonly limit: number | undefined;
  readonly continue: string | undefined;
}

/**
 * The page of a list behind a token, or the first. Where the server no longer knows the list that was begun (410, after its compaction)
 * it is the whole list in one answer instead, and `isAnew` tells that the pages before it count no more: what is left of pages could be
 * too old once more. Throws what `read` throws.
 */
export async function nextPage<Page>(
  read: (query: PageQuery) => Promise<Page>,
  { limit, continue: token }: PageQuery,
): Promise<{ readonly page: Page; readonly isAnew: boolean }> {
  try {
    return { page: await read({ limit, continue: token }), isAnew: false };
  } catch (error) {
    const isTooOld = token !== undefined && error instanceof ApiError && error.status === 410;
    if (!isTooOld) throw error;
    return { page: await read({ limit: undefined, continue: undefined }), isAnew: true };
  }
}
