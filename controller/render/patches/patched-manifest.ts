import type { ComponentKind } from "../../../api/component.ts";
import { isRecord } from "../../../api/fields.ts";
import { groupOf, type Manifest } from "../../../api/kubernetes.ts";
import type { Fields } from "../fields.ts";
import { jsonPatched } from "./json-patch.ts";
import { mergePatched } from "./merge-patch.ts";
import { mergeTypeOf } from "./merge-schema.ts";
import { ownFieldChanged, ownFieldNamed } from "./own-fields.ts";
import { patchContent } from "./patch-content.ts";
import { PatchProblem } from "./patch-problem.ts";
import type { ResourcePatch } from "./resource-patch.ts";
import { strategicMerged } from "./strategic-merge.ts";

/**
 * What a patch makes of the object that it names; undefined for one that it deletes. Throws PatchProblem.
 */
export function patchedManifest(
  before: Manifest,
  { patch: { type, content } }: ResourcePatch,
  component: ComponentKind,
): Manifest | undefined {
  const patch = patchContent(content);
  if (type !== "strategic") {
    if (!hasDirective(patch))
      return checked(before, patch, () =>
        type === "json" ? jsonPatched(before, patch) : mergeResult(before, patch),
      );
    throw new PatchProblem("$patch directive is only supported for the strategic merge patch type");
  }
  const document = patch ?? {};
  if (!isRecord(document)) throw new PatchProblem("decode strategic merge patch: is no object");
  const directive = rootDirective(document);
  if (directive === "delete") {
    assertDeletable(before, component);
    return undefined;
  }
  const whole = directive === "replace" ? keepingIdentity(document, before) : document;
  return checked(before, patch, () => strategicResult(before, whole));
}

/** Checks what a patch made of an object. What the patch names is checked first: it may name what is not there. */
function checked(before: Manifest, patch: unknown, after: () => unknown): Manifest {
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

/** Upstream's later steps need what is protected here. */
function assertDeletable({ apiVersion, kind, metadata }: Manifest, component: ComponentKind): void {
  if (kind === "CustomResourceDefinition" && groupOf(apiVersion) === "apiextensions.k8s.io") {
    throw new PatchProblem("deleting CustomResourceDefinitions is not supported");
  }
  if (apiVersion === "v1" && kind === "Namespace") {
    throw new PatchProblem("deleting Namespaces is not supported");
  }
  const isWebhook =
    apiVersion === "apps/v1" && kind === "Deployment" && metadata.name === "webhook";
  if (component === "KnativeServing" && isWebhook) {
    throw new PatchProblem(
      "deleting protected resource apps/v1, Kind=Deployment, */webhook is not supported",
    );
  }
}

/** A replacement may leave out what says which object it is. */
function keepingIdentity(patch: Fields, { apiVersion, kind, metadata }: Manifest): Fields {
  const given = patch["metadata"] ?? {};
  if (!isRecord(given)) throw new PatchProblem("root $patch: replace metadata must be an object");
  const { name, namespace } = metadata;
  const identity = { name, ...(namespace === undefined ? {} : { namespace }) };
  return { apiVersion, kind, ...patch, metadata: { ...identity, ...given } };
}

/** A merge patch that is no object takes the place of the whole document. */
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
