import checkSchema from "../../../docs/schemas/v1/Check.json" with { type: "json" };
import diagnosisSchema from "../../../docs/schemas/v1/Diagnosis.json" with { type: "json" };
import diffSchema from "../../../docs/schemas/v1/DiffList.json" with { type: "json" };
import logsSchema from "../../../docs/schemas/v1/LogList.json" with { type: "json" };
import type { DiffList } from "../compare/diff-list.ts";
import type { CheckReport } from "../findings/checks/check-item.ts";
import type { DiagnosisReport } from "../findings/diagnosis.ts";
import type { LogList } from "../spokes/log-line.ts";
import { checkFile, diagnosisFile, diffFile, logsFile, type RecordedFleet } from "./bundle.ts";
import { asGathered, checkedDocument, type DocumentSchema, schemaOf } from "./document-check.ts";

interface Documents {
  readonly [checkFile]: CheckReport;
  readonly [diagnosisFile]: DiagnosisReport;
  readonly [diffFile]: DiffList;
  readonly [logsFile]: LogList;
}

const schemas: Readonly<Record<keyof Documents, DocumentSchema>> = {
  [checkFile]: checkSchema,
  [diagnosisFile]: diagnosisSchema,
  [diffFile]: diffSchema,
  [logsFile]: logsSchema,
};

/** A document of another command. Undefined when the bundle has none. Throws UsageError for one that is not what gather writes. */
export function documentOf<File extends keyof Documents>(
  { path, documents }: Pick<RecordedFleet, "path" | "documents">,
  file: File,
): Documents[File] | undefined {
  const document = documents.get(file);
  if (document === undefined) return undefined;
  const isOfSchema = schemaOf<Documents[File]>(asGathered(schemas[file]));
  return checkedDocument({ path, file, document }, isOfSchema);
}
