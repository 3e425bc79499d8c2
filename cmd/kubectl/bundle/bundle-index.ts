import bundleSchema from "../../../docs/schemas/v1/Bundle.json" with { type: "json" };
import { type Bundle, indexFile, type RecordedFleet } from "./bundle.ts";
import { asGathered, checkedDocument, schemaOf } from "./document-check.ts";

/** What every version has written into the index. */
type Index = Pick<Bundle, "generatedAt" | "items"> &
  Partial<Pick<Bundle, "errors">> & {
    readonly summary: Pick<Bundle["summary"], "namespace" | "whole">;
  };

const index = bundleSchema.properties;

/** The index of this and of earlier versions, which had fewer fields. */
const indexSchema = {
  type: "object",
  properties: {
    ...index,
    items: { ...index.items, minItems: 1 },
    summary: { ...index.summary, required: ["namespace"] },
  },
  required: ["apiVersion", "kind", "generatedAt", "items", "summary"],
};

/** The index of a bundle. Throws UsageError for one that is not what gather writes. */
export function indexOf({ path, documents }: Pick<RecordedFleet, "path" | "documents">): Index {
  const document = documents.get(indexFile);
  const isIndex = schemaOf<Index>(asGathered(indexSchema));
  return checkedDocument({ path, file: indexFile, document }, isIndex);
}
