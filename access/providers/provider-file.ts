import { extname } from "node:path";

import { type FileFollower, fileText, followFile } from "../followed-file.ts";
import { parseProviderFile, type ProviderFile, type Strictness } from "./provider-config.ts";

type ProviderFileWatch = Omit<FileFollower<ProviderFile>, "load">;

interface ProviderFilePlace {
  readonly path: string;
  /** Absent: the file is read as tolerantly as by Go. */
  readonly strict?: Strictness;
}

/**
 * Loads a provider file. It is YAML when its name ends in `.yaml` or `.yml`, and JSON otherwise.
 *
 * Throws `FleetError` `ConfigInvalid` with code `ProviderFileUnreadable` or `ProviderFileInvalid`; the message names the path.
 */
export async function loadProviderFile(
  place: ProviderFilePlace,
  signal: AbortSignal,
): Promise<ProviderFile> {
  const { path } = place;
  const what = "The provider file";
  const content = await fileText({ what, path, code: "ProviderFileUnreadable" }, signal);
  const yaml = [".yaml", ".yml"].includes(extname(path).toLowerCase());
  return parseProviderFile(content, { ...place, format: yaml ? "yaml" : "json" });
}

/** Watches a provider file until the signal aborts. */
export function watchProviderFile(
  place: ProviderFilePlace,
  watch: ProviderFileWatch,
  signal: AbortSignal,
): Promise<void> {
  const load = (either: AbortSignal): Promise<ProviderFile> => loadProviderFile(place, either);
  return followFile(place.path, { ...watch, load }, signal);
}
