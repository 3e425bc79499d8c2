import { Ajv, type ValidateFunction } from "ajv";

import { foreignText } from "../../../api/foreign-text.ts";
import { UsageError } from "../errors.ts";
import { reportApiVersion } from "../output/report.ts";
import { stringAt } from "../selection/fields.ts";

// Without a file name: an existing file is not overwritten.
const again = "kubectl knfleet gather -A";

/** A schema of docs/schemas/v1. */
export interface DocumentSchema {
  readonly properties: { readonly errors: { readonly items: object }; readonly summary: object };
}

interface FoundDocument {
  /** Path of the bundle. */
  readonly path: string;
  readonly file: string;
  readonly document: unknown;
}

/** A document of a bundle, which somebody else may have made. Throws UsageError for one that has not the shape of its schema, with the first field that is wrong. `next`: the command that writes another one. */
export function checkedDocument<Document>(
  { path, file, document }: FoundDocument,
  isOfSchema: ValidateFunction<Document>,
  next = again,
): Document {
  if (isOfSchema(document)) return document;
  const isOther = stringAt(document, "apiVersion") !== reportApiVersion;
  const why = isOther
    ? "is of a version that this kubectl knfleet cannot read"
    : notWritten(firstWrong(isOfSchema.errors));
  throw new UsageError(`${file} of the bundle ${path} ${why}`, [next]);
}

/** Compiles a JSON Schema for documents of a bundle. */
export function schemaOf<Document>(schema: object): ValidateFunction<Document> {
  return new Ajv({ strict: false, code: { optimize: false } }).compile<Document>(schema);
}

/** The first field that is wrong, and why. */
export function firstWrong(errors: ValidateFunction["errors"]): string {
  const [first] = errors ?? [];
  const message = first?.message ?? "is wrong";
  const text = first?.keyword === "type" ? message.replaceAll(",", " or ") : message;
  return foreignText(`${first?.instancePath ?? ""} ${text}`);
}

/** Why a file of a bundle cannot be used. */
export function notWritten(wrong: string): string {
  return `is not what gather writes: ${wrong}`;
}

/** The schema as gather writes its document: with a summary, and errors without numbers, which follow from the reasons when they are printed. */
export function asGathered({ properties, ...schema }: DocumentSchema): object {
  const { errors, summary } = properties;
  const items = { ...errors.items, required: ["cluster", "message", "reason"] };
  return {
    ...schema,
    properties: {
      ...properties,
      errors: { ...errors, items },
      summary: { ...summary, type: "object" },
    },
  };
}
