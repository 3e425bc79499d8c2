import { FleetError } from "../../../api/errors.ts";

/** Reason and code of the FleetError that some work throws; `nothing` when it does not throw. */
export function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof FleetError) return `${error.reason} ${error.code}`;
    throw error;
  }
  return "nothing";
}
