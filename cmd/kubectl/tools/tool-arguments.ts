import { Ajv } from "ajv";

import { plainText } from "../../../api/foreign-text.ts";
import type { ToolSchema } from "../main/tool-arguments.ts";

/** Checked arguments. */
export type ToolArguments = {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
};

const ajv = new Ajv({ strict: false });
const shown = 3;

/** Checks the arguments of a call. Returns a sentence when they are wrong. */
export function checkedArguments(schema: ToolSchema, given: unknown): ToolArguments | string {
  const isValid = ajv.compile<ToolArguments>(schema);
  const value = given ?? {};
  if (isValid(value)) return value;
  const problems = (isValid.errors ?? []).map(({ instancePath, message, params }) => {
    const extra: unknown = params["additionalProperty"];
    const name = typeof extra === "string" ? `: ${JSON.stringify(extra.slice(0, 50))}` : "";
    return plainText(`${instancePath} ${message ?? "is wrong"}${name}`.trim());
  });
  const known = Object.keys(schema.properties).join(", ");
  const list = known === "" ? "It has none" : `It has ${known}`;
  return `Invalid arguments: ${problems.slice(0, shown).join("; ")}. ${list}.`;
}
