import { parseProviderFile, type ProviderFile } from "../access/provider-config.ts";
import { providerStrictness } from "../access/provider-strictness.ts";
import { FleetError } from "../api/errors.ts";
import type { ProviderText } from "./provider-maps.ts";

/** What one provider file is, and what is wrong and odd about it; each with its position and without its text. */
export interface ProviderReading {
  /** Undefined when the controller could not read it either. */
  readonly file: ProviderFile | undefined;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Reads a provider file with the code of the controller, and then more strictly. A file of 8 KiB takes milliseconds, a hostile one of 256 KiB half a
 * minute: provider-reader.ts knows where.
 */
export function readingOf(
  { text, format }: ProviderText,
  roots: readonly string[],
): ProviderReading {
  let file: ProviderFile;
  try {
    file = parseProviderFile(text, { path: "", format });
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const [, what = "it cannot be read"] = error.message.split(" is not usable: ");
    return { file: undefined, problems: [what], warnings: [] };
  }
  const strict = providerStrictness(text, { format, roots });
  const unusable = file.providers.flatMap(({ problem = "" }) => (problem === "" ? [] : [problem]));
  const problems = [...strict, ...unusable.filter((one) => !isAmong(strict, one))];
  return { file, problems, warnings: file.warnings.filter((one) => !isAmong(problems, one)) };
}

/** Whether something has been said already about the place. */
function isAmong(texts: readonly string[], text: string): boolean {
  const place = placeOf(text);
  return texts.some((one) => placeOf(one) === place);
}

function placeOf(text: string): string {
  return text.split("): ", 1)[0] ?? "";
}
