import { LabelSelectorError, parseLabelSelector } from "../../../api/label-selector.ts";
import { UsageError } from "../errors.ts";

/** Parses the label selector of a flag. Throws UsageError. */
export function labelMatcher(
  selector: string,
  flag: string,
): ReturnType<typeof parseLabelSelector> {
  try {
    return parseLabelSelector(selector);
  } catch (error) {
    if (!(error instanceof LabelSelectorError)) throw error;
    throw new UsageError(`Invalid value "${error.part}" for ${flag}: want KEY=VALUE`);
  }
}
