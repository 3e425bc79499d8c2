import { extname } from "node:path";

import { recordAt } from "../api/fields.ts";
import { textsOf } from "./rules/names.ts";

/** Label, with any value, on ConfigMaps whose data are provider files. */
export const providerLabel = "knfleet.dev/access-providers";

/** A provider file among the data of a ConfigMap. */
export interface ProviderText {
  readonly key: string;
  readonly text: string;
  readonly format: "json" | "yaml";
}

/**
 * The data of a ConfigMap that holds provider files; undefined for another one. `named` is one that does so by its name, because Helm created it without
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

/** The data that are provider files: those named `.json`, `.yaml` and `.yml`, or like a file without an ending, which is JSON as for the controller. */
export function providerTextsIn(data: unknown): readonly ProviderText[] {
  return textsOf(data).flatMap(([key, text]): readonly ProviderText[] => {
    const ending = extname(key).toLowerCase();
    if ([".yaml", ".yml"].includes(ending)) return [{ key, text, format: "yaml" }];
    return [".json", ""].includes(ending) ? [{ key, text, format: "json" }] : [];
  });
}
