import { applyPatch, type Operation } from "rfc6902";

import { isRecord, isSameJson } from "../../api/fields.ts";
import { pointerOf, tokensOf } from "../../api/json-pointer.ts";
import type { Fields } from "../fields.ts";
import { PatchProblem } from "./patch.ts";

const maxCopiedBytes = 1.5 * 1024 * 1024;

/**
 * Applies a JSON patch (RFC 6902) as upstream's library does: a negative position counts from the end of a list, the
 * text before the first slash of a path is ignored, and an absent value equals null. Throws PatchProblem.
 */
export function jsonPatched(original: Fields, patch: unknown): unknown {
  if (patch === null) return original;
  if (!Array.isArray(patch)) throw new PatchProblem("decode JSON patch: is no list of operations");
  const operations = patch.map(operationOf);
  let document: unknown = structuredClone(original);
  let copied = 0;
  for (const operation of operations) {
    if (operation.op === "copy")
      copied += JSON.stringify(valueAt(document, operation.from) ?? null).length;
    if (copied > maxCopiedBytes)
      throw new PatchProblem("apply JSON patch: copies more than 1.5 MiB");
    document = applyChange(document, operation);
  }
  return document;
}

interface Change {
  readonly op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  readonly path: string;
  readonly from: string;
  readonly value: unknown;
}

const kinds = ["add", "remove", "replace", "move", "copy", "test"] as const;

function operationOf(entry: unknown, index: number): Change {
  const problem = (what: string): PatchProblem =>
    new PatchProblem(`decode JSON patch: operation ${index} ${what}`);
  if (!isRecord(entry)) throw problem("is no object");
  const op = kinds.find((kind) => kind === entry["op"]);
  if (op === undefined) throw problem(`has no op of ${kinds.join(", ")}`);
  const { path, from, value } = entry;
  if (typeof path !== "string") throw problem("has no path");
  const isMoving = op === "move" || op === "copy";
  if (isMoving && typeof from !== "string") throw problem("has no from");
  if ((op === "add" || op === "replace") && !Object.hasOwn(entry, "value")) {
    throw problem("has no value");
  }
  const source = typeof from === "string" ? from : "";
  if ([path, source].some((text) => tokensOf(text).includes("__proto__"))) {
    throw problem("has a path with __proto__");
  }
  return { op, path, from: source, value };
}

function applyChange(document: unknown, change: Change): unknown {
  const { op, path, value } = change;
  if (op === "test") {
    if (isSameJson(valueAt(document, path) ?? null, value ?? null)) return document;
    throw new PatchProblem(`apply JSON patch: testing value ${path} failed`);
  }
  const isWhole = tokensOf(path).length === 0;
  if (isWhole && (op === "add" || op === "replace")) return value;
  if (!isWhole && isDone(document, change)) return document;
  throw new PatchProblem(`apply JSON patch: ${op} operation does not apply: ${path}`);
}

/** Applies one operation to the document itself. */
function isDone(document: unknown, { op, path, from, value }: Change): boolean {
  const isInserting = op === "add" || op === "copy" || op === "move";
  const operation = {
    op,
    path: pointerTo(document, path, isInserting),
    ...(op === "copy" || op === "move" ? { from: pointerTo(document, from, false) } : {}),
    value,
  };
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields were checked when the operation was read
    const [error] = applyPatch(document, [operation as Operation]);
    return error === null || error === undefined;
  } catch {
    // The path leads through a string or a number.
    return false;
  }
}

/**
 * The path with negative positions replaced, as RFC 6902 demands. Throws PatchProblem for a position that a list does
 * not have.
 */
function pointerTo(document: unknown, path: string, isInserting: boolean): string {
  const tokens = tokensOf(path);
  let at = document;
  const written = tokens.map((token, index) => {
    const isNew = isInserting && index === tokens.length - 1;
    const name = Array.isArray(at) ? positionIn(at, token, isNew) : token;
    if (name === undefined) throw new PatchProblem(`apply JSON patch: no such position: ${path}`);
    at = childOf(at, name);
    return name;
  });
  return pointerOf(...written);
}

function positionIn(list: readonly unknown[], token: string, isNew: boolean): string | undefined {
  if (token === "-" && isNew) return token;
  if (!/^[+-]?\d{1,9}$/.test(token)) return undefined;
  const places = list.length + (isNew ? 1 : 0);
  const position = Number(token) < 0 ? Number(token) + places : Number(token);
  return position >= 0 && position < places ? String(position) : undefined;
}

/** Undefined where there is none. */
function valueAt(document: unknown, path: string): unknown {
  return tokensOf(path).reduce((parent: unknown, token) => {
    const name = Array.isArray(parent) ? positionIn(parent, token, false) : token;
    return name === undefined ? undefined : childOf(parent, name);
  }, document);
}

function childOf(parent: unknown, name: string): unknown {
  if (Array.isArray(parent)) return /^\d+$/.test(name) ? parent[Number(name)] : undefined;
  return isRecord(parent) && Object.hasOwn(parent, name) ? parent[name] : undefined;
}
