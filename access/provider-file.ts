import { readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { setInterval } from "node:timers/promises";

import { FleetError } from "../api/errors.ts";
import { parseProviderFile, type ProviderFile } from "./provider-config.ts";

export interface ProviderFileWatch {
  /** What is known of the file, so that a change before the first look is not missed. */
  readonly known: ProviderFile;
  /** The file has a new content, and it is valid. */
  readonly onChange: (file: ProviderFile) => void;
  /** The file was written and is valid, also when its content is the known one. Called after `onChange`. */
  readonly onValid: () => void;
  /** The file has a new content that cannot be used, or is gone; the last good one stays in use. */
  readonly onInvalid: (error: unknown) => void;
}

const pollMs = 500;

/**
 * Loads a provider file; YAML when its name ends in `.yaml` or `.yml`, JSON otherwise.
 *
 * Throws `FleetError` `ConfigInvalid` with code `ProviderFileUnreadable` or `ProviderFileInvalid`; the message names the path.
 */
export async function loadProviderFile(path: string, signal: AbortSignal): Promise<ProviderFile> {
  return parsed(path, await contentOf(path, signal));
}

/**
 * Watches a provider file until the signal aborts. It is polled, because a mounted ConfigMap changes by a swapped symlink
 * far away from the path, which file notifications do not report.
 */
export async function watchProviderFile(
  path: string,
  { known, onChange, onValid, onInvalid }: ProviderFileWatch,
  signal: AbortSignal,
): Promise<void> {
  let identity = "";
  let last = JSON.stringify(known);
  try {
    for await (const _ of setInterval(pollMs, undefined, { signal, ref: false })) {
      const now = await identityOf(path);
      if (now === identity) continue;
      identity = now;
      try {
        const file = await loadProviderFile(path, signal);
        const text = JSON.stringify(file);
        if (text !== last) onChange(file);
        last = text;
        onValid();
      } catch (error) {
        if (!signal.aborted) onInvalid(error);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(":");
  } catch {
    return "absent";
  }
}

async function contentOf(path: string, signal: AbortSignal): Promise<string> {
  try {
    return await readFile(path, { encoding: "utf8", signal });
  } catch (cause) {
    signal.throwIfAborted();
    const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
    throw new FleetError("ConfigInvalid", `The provider file ${path} cannot be read${code}`, {
      code: "ProviderFileUnreadable",
    });
  }
}

function parsed(path: string, content: string): ProviderFile {
  const yaml = [".yaml", ".yml"].includes(extname(path).toLowerCase());
  return parseProviderFile(content, { path, format: yaml ? "yaml" : "json" });
}
