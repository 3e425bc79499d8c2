import { setImmediate } from "node:timers/promises";

import { type Document, Lexer, isScalar, parseDocument, visit } from "yaml";

import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { type Manifest, isJob } from "../../api/kubernetes.ts";
import { deepFrozen, detachedCopy, documentsOf, plainYaml11 } from "../yaml.ts";
import { assertAllowed } from "./object-rules.ts";
import { assertVersionLabels } from "./version.ts";

/** Texts that a user brought for one field of the spec, in the order of the field. */
export interface UserTexts {
  readonly urls: readonly string[];
  readonly texts: readonly string[];
}

const maxUrls = 64;
const maxMegabytes = 16;

/** Whether `spec.manifests` replaces the release. */
export function isCustom({ spec }: Component): boolean {
  return (spec?.manifests?.length ?? 0) > 0;
}

/** Whether a component names manifests without a digest, so that their content may change. */
export function namesChangeable({ spec }: Component): boolean {
  const named = [...(spec?.manifests ?? []), ...(spec?.additionalManifests ?? [])];
  return named.some(({ URL }) => !URL.includes("#"));
}

/**
 * Reads the texts at the URLs of a field, with `${VERSION}` replaced. Throws the errors of `manifestText`, and
 * FleetError ManifestSourceNotAllowed without it. Spec: knative-operator.md 2.4.
 */
export async function userTextsOf(
  list: NonNullable<Component["spec"]>["manifests"],
  version: string,
  manifestText: ((url: string) => Promise<string>) | undefined,
): Promise<UserTexts> {
  const urls = (list ?? []).map(({ URL }) => URL.replaceAll("${VERSION}", () => version));
  if (urls.length > maxUrls) {
    throw new FleetError("ManifestInvalid", `The spec names more than ${maxUrls} manifests`);
  }
  const texts = await Promise.all(urls.map((url) => textAt(url, manifestText)));
  const size = texts.reduce((sum, { length }) => sum + length, 0);
  if (size > maxMegabytes * 1024 * 1024) {
    throw new FleetError("ManifestInvalid", `The manifests hold more than ${maxMegabytes} MiB`);
  }
  return { urls, texts };
}

async function textAt(
  url: string,
  manifestText: ((url: string) => Promise<string>) | undefined,
): Promise<string> {
  if (manifestText !== undefined) return manifestText(url);
  throw new FleetError("ManifestSourceNotAllowed", `No source of manifests is allowed: ${url}`);
}

/**
 * The objects of a field, checked against the version. Throws FleetError ManifestInvalid, also when there is none. Spec:
 * knative-operator.md 2.4.
 */
export async function userManifestsOf(
  { urls, texts }: UserTexts,
  version: string,
): Promise<readonly Manifest[]> {
  if (urls.length === 0) return [];
  const manifests: Manifest[] = [];
  for (const [index, text] of texts.entries()) {
    manifests.push(...(await parseUserManifest(urls[index] ?? "", text)));
  }
  if (manifests.length === 0) {
    throw new FleetError(
      "ManifestInvalid",
      `there is no resource available in the target manifests ${urls.join(",")}`,
    );
  }
  assertVersionLabels(manifests, version);
  return manifests;
}

const maxTextBytes = 8 * 1024 * 1024;
const maxDocuments = 2_000;
const maxObjectBytes = 1.5 * 1024 * 1024;
// Words and signs of YAML, of which a long text in a block is one. The largest CRDs have half of it; parsing takes about a second.
const maxParts = 600_000;
const maxDepth = 64;
const maxAliases = 100;

/**
 * The objects of a manifest that a user brought, in order and deeply frozen; a `List` counts as its items. Throws FleetError
 * ManifestInvalid with URL and document for what is no plain YAML, too large, or not allowed (object-rules.ts). Spec:
 * security.md T-32, T-33.
 */
export async function parseUserManifest(url: string, text: string): Promise<readonly Manifest[]> {
  if (Buffer.byteLength(text) > maxTextBytes) throw invalid(url, "is larger than 8 MiB");
  const documents = documentsOf(text);
  if (documents.length > maxDocuments) throw invalid(url, "holds more than 2000 documents");
  const manifests: Manifest[] = [];
  for (const [index, document] of documents.entries()) {
    const where = `${url}, document ${index + 1},`;
    const value = readDocument(document, where);
    if (value === null || value === undefined) continue;
    for (const item of itemsOf(value, where)) manifests.push(manifestOf(item, where));
    if (manifests.length > maxDocuments) throw invalid(url, "holds more than 2000 objects");
    // Lets the controller do other work in between.
    await setImmediate();
  }
  return manifests;
}

function readDocument(document: string, where: string): unknown {
  if (Buffer.byteLength(document) > 2 * maxObjectBytes) throw invalid(where, "is too large");
  if (hasTooManyParts(document)) throw invalid(where, `holds more than ${maxParts} parts`);
  const yaml = plainYaml(document, where);
  if (yaml.errors.length > 0) throw invalid(where, "is not valid YAML", yaml.errors[0]);
  // Unknown tags and unknown directives are warnings.
  if (yaml.warnings.length > 0) throw invalid(where, "has a custom tag or a directive");
  if (hasKeyTwice(yaml)) throw invalid(where, "is not valid YAML: a key occurs twice");
  let value: unknown;
  try {
    value = yaml.toJS({ maxAliasCount: maxAliases });
  } catch (cause) {
    throw invalid(where, `has more than ${maxAliases} aliases`, cause);
  }
  assertPlain(value, where, maxDepth);
  return value;
}

/** A text cannot have more parts than characters. */
function hasTooManyParts(document: string): boolean {
  if (document.length <= maxParts) return false;
  let parts = 0;
  for (const _ of new Lexer().lex(document)) {
    parts += 1;
    if (parts > maxParts) return true;
  }
  return false;
}

function plainYaml(document: string, where: string) {
  try {
    const options = { ...plainYaml11, logLevel: "silent", prettyErrors: false } as const;
    return parseDocument(document, { ...options, uniqueKeys: false });
  } catch (cause) {
    // A thousand nested lists exhaust the stack of the parser.
    throw invalid(where, "is not valid YAML", cause);
  }
}

/** One pass over all maps. The parser would compare each key with all other keys of its map. */
function hasKeyTwice(document: Document): boolean {
  let isTwice = false;
  visit(document, {
    Map(_key, { items }) {
      const names = items.map(({ key }) => (isScalar(key) ? String(key.value) : key));
      isTwice ||= new Set(names).size < names.length;
      return isTwice ? visit.BREAK : undefined;
    },
  });
  return isTwice;
}

/** Walks with a limit of depth, because later code may recurse without one. */
function assertPlain(value: unknown, where: string, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth === 0) throw invalid(where, `is nested deeper than ${maxDepth} levels`);
  for (const [name, part] of Object.entries(value)) {
    if (name === "<<") throw invalid(where, "has a merge key");
    if (name === "__proto__") throw invalid(where, "has a field __proto__");
    assertPlain(part, where, depth - 1);
  }
}

function itemsOf(value: unknown, where: string): readonly unknown[] {
  if (!isList(value)) return [value];
  const { items } = value;
  if (!Array.isArray(items)) throw invalid(where, "is a List without items");
  if (items.some(isList)) throw invalid(where, "is a List that holds a List");
  return items;
}

function isList(value: unknown): value is { readonly items?: unknown } {
  return isRecord(value) && value["apiVersion"] === "v1" && value["kind"] === "List";
}

function manifestOf(value: unknown, where: string): Manifest {
  const json = JSON.stringify(value);
  if (Buffer.byteLength(json) > maxObjectBytes) throw invalid(where, "is larger than 1.5 MiB");
  const copy = detachedCopy(json);
  if (!isManifest(copy)) throw invalid(where, "is not a Kubernetes object with a valid name");
  assertAllowed(copy, where);
  return deepFrozen(copy);
}

function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value)) return false;
  const { apiVersion, kind, metadata } = value;
  if (!matches(apiVersion, /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[a-z][a-z0-9]{0,62}$/)) {
    return false;
  }
  if (!matches(kind, /^[A-Za-z][A-Za-z0-9]{0,62}$/) || !isRecord(metadata)) return false;
  const { name, generateName, namespace, labels, annotations } = metadata;
  const isToBeNamed = name === undefined && isJob({ apiVersion, kind }) && isName(generateName);
  const isNamed = isName(name) || isToBeNamed;
  const isPlaced = namespace === undefined || matches(namespace, /^[a-z0-9](?:[a-z0-9-]{0,62})$/);
  return isNamed && isPlaced && [labels, annotations].every(isTexts);
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === "string" && pattern.test(value);
}

/** A name that every API server accepts as the last part of a path. RBAC allows more characters than other kinds. */
function isName(value: unknown): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return matches(value, /^(?!\.{1,2}$)[^/%\u0000-\u0020\u007f]{1,253}$/);
}

function isTexts(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}

function invalid(where: string, problem: string, cause?: unknown): FleetError {
  return new FleetError("ManifestInvalid", `Manifest ${where} ${problem}`, { cause });
}
