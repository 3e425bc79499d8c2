import { Ajv } from "ajv";

import { foreignText } from "../../../api/foreign-text.ts";
import checkSchema from "../../../docs/schemas/v1/Check.json" with { type: "json" };
import diagnosisSchema from "../../../docs/schemas/v1/Diagnosis.json" with { type: "json" };
import diffSchema from "../../../docs/schemas/v1/DiffList.json" with { type: "json" };
import type { CheckReport } from "../commands/check/check-item.ts";
import type { DiagnosisReport } from "../commands/diagnose/diagnosis.ts";
import type { DiffList } from "../commands/diff/diff-list.ts";
import { UsageError } from "../errors.ts";
import { reportApiVersion } from "../output/report.ts";
import { stringAt } from "../selection/fields.ts";
import { checkFile, diagnosisFile, diffFile, type RecordedFleet } from "./bundle.ts";

// Without a file name: an existing file is not overwritten.
const again = "kubectl knfleet gather -A";

interface Documents {
  readonly [checkFile]: CheckReport;
  readonly [diagnosisFile]: DiagnosisReport;
  readonly [diffFile]: DiffList;
}

const schemas: Readonly<Record<keyof Documents, object>> = {
  [checkFile]: checkSchema,
  [diagnosisFile]: diagnosisSchema,
  [diffFile]: diffSchema,
};

/**
 * A document of a bundle, which somebody else may have made. Undefined when the bundle has none. Throws UsageError for one that has not the shape of
 * docs/schemas/v1, with the first field that is wrong.
 */
export function documentOf<File extends keyof Documents>(
  { path, documents }: Pick<RecordedFleet, "path" | "documents">,
  file: File,
): Documents[File] | undefined {
  const document = documents.get(file);
  if (document === undefined) return undefined;
  const isValid = new Ajv({ strict: false, code: { optimize: false } }).compile<Documents[File]>(
    schemas[file],
  );
  if (isValid(document)) return document;
  const [first] = isValid.errors ?? [];
  const isOther = stringAt(document, "apiVersion") !== reportApiVersion;
  const what = foreignText(`${first?.instancePath ?? ""} ${first?.message ?? "is wrong"}`).trim();
  const why = isOther
    ? "is of a version that this kubectl knfleet cannot read"
    : `is not what gather writes: ${what}`;
  throw new UsageError(`${file} of the bundle ${path} ${why}`, [again]);
}
