import { parseProviderFile, type ProviderFile } from "../../access/providers/provider-config.ts";
import { providerStrictness } from "../../access/providers/provider-strictness.ts";
import { FleetError } from "../../api/errors.ts";
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
  const problems = [...strict, ...elsewhere(strict, unusable)];
  return { file, problems, warnings: elsewhere(problems, file.warnings) };
}

/** The texts about places of which nothing has been said already. */
function elsewhere(said: readonly string[], texts: readonly string[]): readonly string[] {
  const places = new Set(said.map(placeOf));
  return texts.filter((text) => !places.has(placeOf(text)));
}

function placeOf(text: string): string {
  return text.split("): ", 1)[0] ?? "";
}
