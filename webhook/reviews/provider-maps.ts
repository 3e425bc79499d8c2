import { extname } from "node:path";

import { recordAt, textsOf } from "../../api/fields.ts";

/** Label, with any value, on ConfigMaps whose data are provider files. */
export const providerLabel = "knfleet.dev/access-providers";

/** A provider file in the data of a ConfigMap. */
export interface ProviderText {
  readonly key: string;
  readonly text: string;
  readonly format: "json" | "yaml";
}

/**
 * The data of a ConfigMap that holds provider files; undefined for other ConfigMaps. `named` is the name of one that has no label, because Helm created it without
 * the label.
 */
export function providerDataOf(
  object: unknown,
  named: string | undefined,
): Readonly<Record<string, unknown>> | undefined {
  const metadata = recordAt(object, "metadata");
  const isLabelled = Object.hasOwn(recordAt(metadata, "labels"), providerLabel);
  const isNamed = named !== undefined && metadata["name"] === named;
  return isLabelled || isNamed ? recordAt(object, "data") : undefined;
}

/** The provider files in the data: keys that end in `.json`, `.yaml` or `.yml`, and keys without an ending, which are JSON as for the controller. */
export function providerTextsIn(data: unknown): readonly ProviderText[] {
  return textsOf(data).flatMap(([key, text]): readonly ProviderText[] => {
    const format = formatOf(key);
    return format === undefined ? [] : [{ key, text, format }];
  });
}

/** Keys of `binaryData` that the controller would read as provider files, because both kinds of data are files of one folder. */
export function binaryProvidersIn(object: unknown): readonly string[] {
  return Object.keys(recordAt(object, "binaryData")).filter((key) => formatOf(key) !== undefined);
}

function formatOf(key: string): ProviderText["format"] | undefined {
  const ending = extname(key).toLowerCase();
  if ([".yaml", ".yml"].includes(ending)) return "yaml";
  return [".json", ""].includes(ending) ? "json" : undefined;
}
