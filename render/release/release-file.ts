import { setImmediate } from "node:timers/promises";

import { parse } from "yaml";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import type { Manifest } from "../../api/kubernetes.ts";
import { isJob } from "../workloads/jobs.ts";

/**
 * The objects of one release file, in order and deeply frozen. `seen` holds the texts of the documents that were read
 * before: a text that comes again (most CRDs of a release do, in the next file) is skipped, and added to otherwise. Throws
 * FleetError ManifestInvalid with file and document.
 */
export async function parseReleaseFile(
  path: string,
  text: string,
  seen: Set<string>,
): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = [];
  for (const [index, document] of documentsOf(text).entries()) {
    const content = document.replaceAll(/^#.*\n/gm, "").trim();
    if (content === "" || seen.has(content)) continue;
    seen.add(content);
    const manifest = parseObject(document, `Release file ${path}, document ${index + 1}`);
    if (manifest !== undefined) manifests.push(manifest);
    // A version takes some 300 ms to parse; the controller goes on with its other work in between.
    await setImmediate();
  }
  return manifests;
}

/** YAML 1.2, 9.2: `---` at the start of a line separates documents even within a scalar. One document at a time keeps memory low. */
function documentsOf(text: string): readonly string[] {
  return text.split(/^---(?=\s|$)/m);
}

function parseObject(text: string, where: string): Manifest | undefined {
  const value = parseYaml(text, where);
  if (value === null || value === undefined) return undefined;
  // Through JSON, because the strings of the parser are slices that keep the whole text in memory.
  const copy: unknown = JSON.parse(JSON.stringify(value));
  if (!isManifest(copy)) {
    throw new FleetError("ManifestInvalid", `${where} is not a Kubernetes object with a name`);
  }
  return deepFrozen(copy);
}

function parseYaml(text: string, where: string): unknown {
  try {
    // `merge` also resolves the tagged form `!!merge <<`; repeated anchors are legal YAML and accepted.
    return parse(text, { merge: true, logLevel: "error" });
  } catch (cause) {
    throw new FleetError("ManifestInvalid", `${where} is not valid YAML`, { cause });
  }
}

function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value)) return false;
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !isRecord(metadata))
    return false;
  const { name, generateName, namespace } = metadata;
  const isNamed = isText(name) || (isJob({ apiVersion, kind }) && isText(generateName));
  return isNamed && (namespace === undefined || typeof namespace === "string");
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** The value with everything in it frozen; a part that is frozen already is taken to be so all the way down. */
export function deepFrozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFrozen(part);
  return Object.freeze(value);
}
