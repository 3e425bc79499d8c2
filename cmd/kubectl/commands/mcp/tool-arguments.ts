import { Ajv } from "ajv";

import { plainText } from "../../../../api/foreign-text.ts";
import {
  commonArguments,
  textArgument,
  type ToolSchema,
  wordsArgument,
} from "../../main/tool-arguments.ts";

/** The arguments of tools of commands that are not declared with `command()`. */
export type ArgumentName = keyof typeof argumentSchemas;

/** Checked arguments. */
export type ToolArguments = {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
};

const argumentSchemas = {
  ...commonArguments,
  targets: wordsArgument("ks/NAME, ke/NAME, cp/NAME or NAMESPACE/CLUSTERPROFILE"),
  words: wordsArgument("Reasons such as ApplyFailed, or KNF numbers such as KNF1005"),
  set: textArgument("A fleet set: kss/NAME or kes/NAME"),
  stage: textArgument("Only the clusters of this stage of the set"),
  revision: textArgument("Name or number of one revision, for its content"),
} as const;

/** The schema of a tool with these arguments. */
export function toolSchema(
  names: readonly ArgumentName[],
  required: readonly ArgumentName[],
): ToolSchema {
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, argumentSchemas[name]])),
    required: [...required],
    additionalProperties: false,
  };
}

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
