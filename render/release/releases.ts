import { setImmediate } from "node:timers/promises";

import { parse } from "yaml";

import type { ComponentKind } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { type Manifest, type ObjectKey, isJob } from "../../api/kubernetes.ts";
import { deepFrozen, detachedCopy, documentsOf } from "../yaml.ts";

/** The release files of one directory. Layout: knative-operator.md 2.1. */
export interface Releases {
  /** The directory, as an absolute path without links. */
  readonly dir: string;
  /** Available versions of a component, newest first; read once, when the directory was opened. */
  versionsOf(kind: ComponentKind): readonly string[];
  /**
   * The objects of one part, for example `knative-serving/1.23.0`, deeply frozen, in the order of files and documents, without
   * repeated documents. Parsed once and remembered. Throws FleetError ReleaseNotFound, ReleasePartNotFound or
   * ManifestInvalid.
   */
  load(part: string): Promise<readonly Manifest[]>;
  /** Cache of `render` for this directory. */
  readonly rendered: BoundedCache<Rendered>;
}

/** The objects that a component installs, without owners. */
export interface Rendered {
  /** Target version; becomes `status.version` once all of it is installed. */
  readonly version: string;
  /** Deeply frozen, each object once, in the order of the release files. */
  readonly manifests: readonly Manifest[];
  /** Objects that `spec.patches` deleted. They are deleted from the cluster in this order once all workloads are available. */
  readonly deletions: readonly ObjectKey[];
  /** Entries of `spec.config` for which there is no ConfigMap, sorted. */
  readonly unusedConfig: readonly string[];
  /** Parts of the release, relative to its directory; becomes `status.manifests`. Spec: knative-operator.md 2.7. */
  readonly paths: readonly string[];
  /** Changes exactly when the manifests change; lower-case hexadecimal SHA-256. */
  readonly hash: string;
}

/**
 * Caches values by key. With more than `limit` keys the least recently used one is dropped. Callers share a value that
 * is being made; a failure is not cached.
 */
export class BoundedCache<Value> {
  readonly #limit: number;
  readonly #entries = new Map<string, Promise<Value>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Number of cached values. */
  get size(): number {
    return this.#entries.size;
  }

  /** The cached value, or that of `make`. Rejects with the error of `make`. */
  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const found = this.#entries.get(key);
    const entry = found ?? make();
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (found === undefined) this.#settle(key, entry);
    return entry;
  }

  #settle(key: string, entry: Promise<Value>): void {
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#limit && oldest !== undefined) this.#entries.delete(oldest);
    entry.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
  }
}

/**
 * The objects of one release file, in order and deeply frozen. `seen` holds the texts of all documents read so far. A
 * repeated text is skipped: most CRDs of a release are repeated in the next file. Throws FleetError ManifestInvalid
 * with file and document.
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
    // Parsing a version takes 300 ms. This lets the controller do other work in between.
    await setImmediate();
  }
  return manifests;
}

function parseObject(text: string, where: string): Manifest | undefined {
  const value = parseYaml(text, where);
  if (value === null || value === undefined) return undefined;
  const copy = detachedCopy(JSON.stringify(value));
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
