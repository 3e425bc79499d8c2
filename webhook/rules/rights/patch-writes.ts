import { isRecord, recordAt, textAt } from "../../../api/fields.ts";
import { tokensOf } from "../../../api/json-pointer.ts";
import { without } from "../../../render/fields.ts";
import { patchContent } from "../../../render/patches/patch-content.ts";
import { PatchProblem } from "../../../render/patches/patch.ts";
import { type Fields, quoteValue } from "../rule.ts";
import { type HarmlessField, harmlessFields } from "./harmless-fields.ts";

/**
 * What of an entry of `spec.patches` needs a right, for a message; undefined for a patch that writes harmless fields only. The patch is judged without
 * its object, so that the answer holds for each release and for whatever else the spec comes to say. What depends on the object counts as harmful:
 * copies, moves, and a merge patch that replaces the list of containers. Security: T-33.
 */
export function harmIn(patch: Fields): string | undefined {
  const target = recordAt(patch, "target");
  const [apiVersion = "", kind = ""] = [textAt(target, "apiVersion"), textAt(target, "kind")];
  const fields = harmlessFields(apiVersion, kind, textAt(target, "name") ?? "");
  if (fields === undefined) return `a patch of ${quoteValue(`${apiVersion} ${kind}`)}`;
  const { type, content } = recordAt(patch, "patch");
  if (typeof content !== "string") return undefined;
  const harm = harmOf(type, documentOf(content), fields);
  if (harm === undefined) return undefined;
  return `a patch of ${harm.length === 0 ? "the whole object" : quoteValue(harm.join("."))}`;
}

type Path = readonly string[];

const unreadable = Symbol("unreadable");

function documentOf(content: string): unknown {
  try {
    return patchContent(content);
  } catch (error) {
    if (error instanceof PatchProblem) return unreadable;
    throw error;
  }
}

function harmOf(type: unknown, document: unknown, fields: HarmlessField): Path | undefined {
  if (document === null) return undefined;
  if (type === "json" && Array.isArray(document)) {
    return document.map((operation) => harmOfOperation(operation, fields)).find(isPath);
  }
  if (!isRecord(document)) return [];
  if (type === "merge") return harmOfMerge(withoutIdentity(document), fields, false);
  if (type !== "strategic") return [];
  const isDeletion = document["$patch"] === "delete";
  return isDeletion ? undefined : harmOfMerge(withoutIdentity(document), fields, true);
}

function isPath(path: Path | undefined): path is Path {
  return path !== undefined;
}

/** A patch may repeat what names the object, and cannot change that. */
function withoutIdentity(document: Fields): unknown {
  const rest = without(document, ["apiVersion", "kind"]);
  const { metadata } = document;
  if (!isRecord(rest) || !isRecord(metadata)) return rest;
  return { ...rest, metadata: without(metadata, ["name", "namespace"]) };
}

/** The path of the first harmful field of a merge patch, or of a strategic one, which merges lists by name. */
function harmOfMerge(
  value: unknown,
  field: HarmlessField | undefined,
  isStrategic: boolean,
): Path | undefined {
  if (field?.allows(value) === true) return undefined;
  if (field?.kind === "items" && isStrategic && Array.isArray(value)) {
    return value.map((item) => harmOfItem(item, field.at("-"))).find(isPath);
  }
  if (field?.kind !== "fields" || !isRecord(value)) return [];
  return Object.entries(value)
    .map(([name, part]) => {
      if (isStrategic && name.startsWith("$setElementOrder/")) return undefined;
      const harm = harmOfMerge(part, field.at(name), isStrategic);
      return harm === undefined ? undefined : [name, ...harm];
    })
    .find(isPath);
}

function harmOfItem(item: unknown, field: HarmlessField | undefined): Path | undefined {
  if (!isRecord(item) || typeof item["name"] !== "string") return [];
  return harmOfMerge(without(item, ["name"]), field, true);
}

/** The path of an operation of a JSON patch that is harmful. What a copy or a move brings is not known. */
function harmOfOperation(operation: unknown, root: HarmlessField): Path | undefined {
  const { op, path, value } = recordAt(operation);
  if (op === "test") return undefined;
  const steps = typeof path === "string" ? tokensOf(path) : [];
  if (op === "copy" || op === "move") return [`what ${op} brings`];
  // Null is a value here, and stands for a removal elsewhere.
  const isPlain = op === "remove" || ((op === "add" || op === "replace") && value !== null);
  const field = steps.reduce((above: HarmlessField | undefined, step) => above?.at(step), root);
  return isPlain && field?.allows(op === "remove" ? null : value) === true ? undefined : steps;
}
