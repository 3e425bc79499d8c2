import { ApiError } from "../../access/kube/api-error.ts";
import { missingRightOf } from "../../access/kube/missing-right.ts";

/** A check could not be asked. The message is a sentence for the author of the set, and may quote what a server says, bounded. */
export class Unasked extends Error {
  override readonly name = "Unasked";
}

/** Why an API server did not answer a question: a right that is missing, or else the sentence of `otherwise`. Throws what is no answer about the question. */
export function refusalText(error: unknown, otherwise: (error: ApiError) => string): string {
  if (!(error instanceof ApiError) || error.status === 401) throw error;
  const right = missingRightOf(error);
  return right === undefined ? otherwise(error) : `${right.replace("the", "The")} is missing`;
}
