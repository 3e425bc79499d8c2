import { renderJson } from "../structured.ts";
import { templateText, templateValues } from "./evaluate-jsonpath.ts";
import { parseTemplate } from "./parse-jsonpath.ts";

/** A document through a template: text without a final newline, as kubectl, or with `jsonpath-as-json` a JSON array. Throws UsageError. */
export function renderJsonPath(
  document: unknown,
  template: string,
  format: "jsonpath" | "jsonpath-as-json",
): string {
  const nodes = parseTemplate(template);
  if (format === "jsonpath") return templateText(document, nodes);
  return renderJson(templateValues(document, nodes), 4);
}
