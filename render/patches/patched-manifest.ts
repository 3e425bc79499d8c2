import type { ComponentKind } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import { type Manifest, type ObjectKey, groupOf, keyOf } from "../../api/kubernetes.ts";
import { type Fields, withoutNulls } from "../fields.ts";
import { jsonPatched } from "./json-patch.ts";
import { mergeTypeOf } from "./merge-schema.ts";
import { patchContent } from "./patch-content.ts";
import { PatchProblem, type ResourcePatch, ownFieldChanged, ownFieldNamed } from "./patch.ts";
import { strategicMerged } from "./strategic-merge.ts";

/** Applies a patch to its object. Undefined when the patch deletes the object. Throws PatchProblem. */
export function patchedManifest(
  before: Manifest,
  patch: ResourcePatch,
  component: ComponentKind,
): Manifest | undefined {
  const { document, directive } = contentOf(patch);
  const { type } = patch.patch;
  if (type === "json") return checkResult(before, document, () => jsonPatched(before, document));
  if (type === "merge") return checkResult(before, document, () => mergeResult(before, document));
  if (directive === "delete") {
    assertDeletable({ ...keyOf(before), component });
    return undefined;
  }
  const fields = isRecord(document) ? document : {};
  const whole = directive === "replace" ? keepingIdentity(fields, before) : fields;
  return checkResult(before, document, () => strategicResult(before, whole));
}

/** Checks a patch without its object. Throws PatchProblem. */
export function assertContent(patch: ResourcePatch, component: ComponentKind): void {
  const { document, directive } = contentOf(patch);
  if (directive === "delete") assertDeletable({ ...patch.target, component });
  assertNotOwn(ownFieldNamed(document));
}

interface Content {
  readonly document: unknown;
  /** `$patch` of the whole document. */
  readonly directive: string | undefined;
}

function contentOf({ patch: { type, content } }: ResourcePatch): Content {
  const document = patchContent(content);
  if (type !== "strategic") {
    if (!hasDirective(document)) return { document, directive: undefined };
    throw new PatchProblem("$patch directive is only supported for the strategic merge patch type");
  }
  if (document === null) return { document, directive: undefined };
  if (isRecord(document)) return { document, directive: rootDirective(document) };
  throw new PatchProblem("decode strategic merge patch: is no object");
}

/**
 * Checks the result of a patch. The fields that the patch names are checked first, because it may name fields that do
 * not exist.
 */
function checkResult(before: Manifest, patch: unknown, after: () => unknown): Manifest {
  assertNotOwn(ownFieldNamed(patch));
  const result = after();
  if (!isRecord(result) || typeof result["kind"] !== "string" || result["kind"] === "") {
    throw new PatchProblem("decode patched resource: Object 'Kind' is missing");
  }
  if (!isSameObject(before, result)) {
    throw new PatchProblem(
      "patch must not change apiVersion, kind, metadata.name, or metadata.namespace",
    );
  }
  const misshapen = (["labels", "annotations"] as const).find(
    (name) => !isMapOrNone(result.metadata[name]),
  );
  if (misshapen !== undefined) throw new PatchProblem(`metadata.${misshapen} must be a map`);
  assertNotOwn(ownFieldChanged(before, result));
  return result;
}

function assertNotOwn(field: string | undefined): void {
  if (field === undefined) return;
  throw new PatchProblem(`${field} belongs to knfleet and cannot be patched`);
}

function hasDirective(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasDirective);
  if (!isRecord(value)) return false;
  return Object.hasOwn(value, "$patch") || Object.values(value).some(hasDirective);
}

function rootDirective(patch: Fields): string | undefined {
  if (!Object.hasOwn(patch, "$patch")) return undefined;
  const { $patch: directive } = patch;
  if (typeof directive === "string") return directive;
  throw new PatchProblem("root $patch directive must be a string");
}

interface Deleted extends Pick<ObjectKey, "apiVersion" | "kind" | "name"> {
  readonly component: ComponentKind;
}

/** Throws PatchProblem for objects that later steps of upstream need. */
function assertDeletable({ apiVersion, kind, name, component }: Deleted): void {
  if (kind === "CustomResourceDefinition" && groupOf(apiVersion) === "apiextensions.k8s.io") {
    throw new PatchProblem("deleting CustomResourceDefinitions is not supported");
  }
  if (apiVersion === "v1" && kind === "Namespace") {
    throw new PatchProblem("deleting Namespaces is not supported");
  }
  const isWebhook = apiVersion === "apps/v1" && kind === "Deployment" && name === "webhook";
  if (component === "KnativeServing" && isWebhook) {
    throw new PatchProblem(
      "deleting protected resource apps/v1, Kind=Deployment, */webhook is not supported",
    );
  }
}

/** Adds kind, name and namespace to a replacement that leaves them out. */
function keepingIdentity(patch: Fields, { apiVersion, kind, metadata }: Manifest): Fields {
  const given = patch["metadata"] ?? {};
  if (!isRecord(given)) throw new PatchProblem("root $patch: replace metadata must be an object");
  const { name, namespace } = metadata;
  const identity = { name, ...(namespace === undefined ? {} : { namespace }) };
  return { apiVersion, kind, ...patch, metadata: { ...identity, ...given } };
}

/** A merge patch that is no object replaces the whole document. */
function mergeResult(before: Manifest, patch: unknown): unknown {
  return isRecord(patch) ? mergePatched(before, patch) : patch;
}

function strategicResult(before: Manifest, patch: Fields): Fields {
  const { apiVersion, kind } = before;
  const type = mergeTypeOf(apiVersion, kind);
  if (type !== undefined) return strategicMerged(before, patch, type);
  throw new PatchProblem(
    `strategic merge patch is not supported for ${apiVersion}, Kind=${kind}; use a json or merge patch`,
  );
}

function isSameObject(before: Manifest, after: Fields): after is Manifest {
  const metadata = isRecord(after["metadata"]) ? after["metadata"] : {};
  const { name, namespace } = before.metadata;
  const isSame = [
    [after["apiVersion"], before.apiVersion],
    [after["kind"], before.kind],
    [metadata["name"], name],
    [metadata["namespace"] ?? "", namespace ?? ""],
  ].every(([is, was]) => is === was);
  return isSame;
}

function isMapOrNone(value: unknown): boolean {
  return value === undefined || value === null || isRecord(value);
}

/**
 * Applies a JSON merge patch (RFC 7386) as upstream's library does: null items of lists stay; null fields inside list
 * items are left out, unless the list replaces a map.
 */
function mergePatched(original: Fields, patch: Fields): Fields {
  const result: Record<string, unknown> = { ...original };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = patchedValue(result[name], value);
  }
  return result;
}

function patchedValue(before: unknown, value: unknown): unknown {
  if (!isRecord(before)) return withoutNulls(value);
  return isRecord(value) ? mergePatched(before, value) : value;
}
