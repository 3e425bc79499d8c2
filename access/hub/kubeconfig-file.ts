import { readFileSync, statSync } from "node:fs";

import { parseDocument } from "yaml";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";

// A thousand clusters with their certificates are some 5 MB. The parser takes 80 times the size of the file.
const maxBytes = 10_000_000;

/** Undefined for a file that cannot be read. Throws FleetError for one that is too large. */
export function contentOf(file: string): string | undefined {
  let bytes: Buffer;
  try {
    if (statSync(file).size > maxBytes) throw tooLarge(file);
    bytes = readFileSync(file);
  } catch (error) {
    if (error instanceof FleetError) throw error;
    return undefined;
  }
  // A pipe has no size before it is read.
  if (bytes.length > maxBytes) throw tooLarge(file);
  return bytes.toString("utf8");
}

function tooLarge(file: string): FleetError {
  return invalid(`The kubeconfig ${file} has more than ${maxBytes / 1e6} MB`);
}

/** The fields of a kubeconfig. Throws FleetError for a text that is none. */
export function parsed(content: string, file: string): Readonly<Record<string, unknown>> {
  const value = valueOf(content);
  if (!isRecord(value)) throw invalid(`The kubeconfig ${file} is not valid YAML`);
  return value;
}

/** Null for a text that is not YAML, or whose nesting or aliases have no end. */
function valueOf(content: string): unknown {
  try {
    const document = parseDocument(content, { logLevel: "silent" });
    if (document.errors.length > 0) return null;
    // An empty file is an empty kubeconfig, as for client-go.
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch {
    return null;
  }
}

/** Why a kubeconfig cannot be used. The message quotes no secret. */
export function invalid(message: string): FleetError {
  return new FleetError("ConfigInvalid", message);
}
