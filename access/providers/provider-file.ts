import { extname } from "node:path";

import { fileText, type FileFollower, followFile } from "../followed-file.ts";
import { parseProviderFile, type ProviderFile } from "./provider-config.ts";

export type ProviderFileWatch = Omit<FileFollower<ProviderFile>, "load">;

/**
 * Loads a provider file; YAML when its name ends in `.yaml` or `.yml`, JSON otherwise.
 *
 * Throws `FleetError` `ConfigInvalid` with code `ProviderFileUnreadable` or `ProviderFileInvalid`; the message names the path.
 */
export async function loadProviderFile(path: string, signal: AbortSignal): Promise<ProviderFile> {
  const what = "The provider file";
  return parsed(path, await fileText({ what, path, code: "ProviderFileUnreadable" }, signal));
}

/** Watches a provider file until the signal aborts. */
export function watchProviderFile(
  path: string,
  watch: ProviderFileWatch,
  signal: AbortSignal,
): Promise<void> {
  return followFile(path, { ...watch, load: (either) => loadProviderFile(path, either) }, signal);
}

function parsed(path: string, content: string): ProviderFile {
  const yaml = [".yaml", ".yml"].includes(extname(path).toLowerCase());
  return parseProviderFile(content, { path, format: yaml ? "yaml" : "json" });
}
