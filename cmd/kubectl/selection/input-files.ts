import { createReadStream } from "node:fs";
import { readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";

import { FleetError } from "../../../api/errors.ts";
import { isRecord, jsonOf } from "../../../api/fields.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { UsageError } from "../errors.ts";
import { InputError, yamlDocuments } from "./yaml-documents.ts";

const maxBytes = 16 * 1024 * 1024;

/** Reads the text of the file that a flag names, or of a stream in its place. Throws InputError with the flag and the system's reason. */
export async function readInputText(
  {
    path,
    flag,
    stream,
  }: { readonly path: string; readonly flag: string; readonly stream?: Readable },
  signal: AbortSignal,
): Promise<string> {
  const source = stream ?? createReadStream(path);
  addAbortSignal(signal, source);
  try {
    return await readBounded(source);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InputError) throw new InputError([`${flag} ${path}: ${error.message}`]);
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new InputError([`${flag} ${path}: cannot be read (${code})`]);
  }
}

async function readBounded(source: Readable): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    const part: Uint8Array = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > maxBytes) throw new InputError(["is larger than 16 MiB"]);
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The objects of a YAML or JSON text. Throws InputError. */
export function objectsOf(text: string, source: string): readonly Manifest[] {
  const documents = yamlDocuments(text, source);
  const problems = documents
    .filter(({ value }) => !isManifest(value))
    .map(({ where }) => `${where}: is not a Kubernetes object with apiVersion, kind and name`);
  if (problems.length > 0) throw new InputError(problems);
  return documents.map(({ value }) => value).filter(isManifest);
}

/** Environment variables of a JSON text, which has to be one object with strings. Throws InputError. */
export function environmentOf(text: string, source: string): Readonly<Record<string, string>> {
  const value = jsonOf(text);
  if (value === undefined) throw new InputError([`${source}: is not JSON`]);
  if (!isRecord(value)) throw new InputError([`${source}: must be object`]);
  const variables: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, entry] of Object.entries(value)) {
    if (typeof entry === "string") variables[name] = entry;
    else problems.push(`${source}: ${name}: must be string`);
  }
  if (problems.length > 0) throw new InputError(problems);
  return variables;
}

function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value) || !isRecord(value["metadata"])) return false;
  const { apiVersion, kind, metadata } = value;
  const { name, namespace } = metadata;
  return (
    [apiVersion, kind, name].every((one) => typeof one === "string" && one !== "") &&
    (namespace === undefined || typeof namespace === "string")
  );
}

const prefixes = ["file:", "@CASE_DIR@/"];
const maxManifestBytes = 16 * 1024 * 1024;

/**
 * Returns a reader of the URLs of `spec.manifests` and `spec.additionalManifests` in a folder of the workstation. It reads `file:NAME` and
 * `@CASE_DIR@/NAME`, no other URL and no file outside the folder. Throws FleetError ManifestInvalid.
 */
export function manifestFolder(folder: string): (url: string) => Promise<string> {
  return async (url) => {
    const prefix = prefixes.find((candidate) => url.startsWith(candidate));
    if (prefix === undefined) {
      throw refused(url, `is not one of ${prefixes.map((one) => `${one}NAME`).join(" and ")}`);
    }
    const root = await realpath(folder).catch((cause: unknown) => {
      throw refused(url, `cannot be read: there is no folder ${folder}`, cause);
    });
    const path = await realpath(join(root, url.slice(prefix.length))).catch((cause: unknown) => {
      throw refused(url, "does not exist in the folder of --manifests-from", cause);
    });
    if (!path.startsWith(root + sep)) throw refused(url, "leads out of the folder");
    const entry = await stat(path);
    if (!entry.isFile() || entry.size > maxManifestBytes) {
      throw refused(url, "is no file up to 16 MiB");
    }
    return readFile(path, "utf8");
  };
}

function refused(url: string, problem: string, cause?: unknown): FleetError {
  return new FleetError("ManifestInvalid", `Manifest ${url} ${problem}`, { cause });
}

/** Turns an InputError into a UsageError with the same problems. */
export async function withUsageErrors<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof InputError) throw new UsageError(error.problems.join("\n"));
    throw error;
  }
}
