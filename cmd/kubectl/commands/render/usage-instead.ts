import { UsageError } from "../../usage-error.ts";
import { InputError } from "./input-error.ts";

/** What a command does with files that cannot be used: the problems become the message of a UsageError. */
export async function usageInstead<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof InputError) throw new UsageError(error.problems.join("\n"));
    throw error;
  }
}
