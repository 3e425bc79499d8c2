import { Ajv } from "ajv";

import { plainText } from "../../../../api/foreign-text.ts";

/** The names of all arguments of all tools. */
export type ArgumentName = keyof typeof argumentSchemas;

/** Checked arguments. */
export type ToolArguments = {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
};

/** The JSON Schema of the arguments of one tool. */
export interface ToolSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, object>>;
  readonly required: string[];
  readonly additionalProperties: false;
}

const text = (description: string, maxLength = 500) =>
  ({ type: "string", minLength: 1, maxLength, description }) as const;
const words = (description: string) => {
  const items = { type: "string", minLength: 1, maxLength: 300 } as const;
  return { type: "array", items, minItems: 1, maxItems: 100, description } as const;
};
const flag = (description: string) => ({ type: "boolean", description }) as const;

const argumentSchemas = {
  names: words("Installations: ks/NAME, ke/NAME or NAME; ks or ke alone for all of that kind"),
  targets: words("ks/NAME, ke/NAME, cp/NAME or NAMESPACE/CLUSTERPROFILE"),
  kinds: words("Kinds such as pods or deployments, or KIND/NAME"),
  words: words("Reasons such as ApplyFailed, or KNF numbers such as KNF1005"),
  set: text("A fleet set: kss/NAME or kes/NAME"),
  namespace: text("Namespace on the hub; absent: all"),
  selector: text("Label selector of installations, as for kubectl -l"),
  cluster: text("Glob for names of ClusterProfiles, such as eu-*"),
  on: text("Selector for labels and properties of ClusterProfiles, such as region=eu"),
  reason: text("Only installations with this reason or KNF number"),
  failed: flag("Only installations that are not fine"),
  live: flag("False: only what the hub says; no cluster is read"),
  all: flag("Healthy Deployments and pods one by one, too"),
  client: flag("Only the version of this program; no hub is asked"),
  since: text("Not older than this duration, such as 30m or 2h", 20),
  types: text("Types of Events, such as Warning or Normal,Warning"),
  tail: text("Last lines of each container, such as 50; default 20", 6),
  container: text("Only containers of this name"),
  version: text("Version of Knative, such as 1.23", 100),
  revision: text("Name or number of one revision, for its content"),
  warnWithin: text("What ends within this time, such as 14d, is an error", 20),
  spokeNamespace: text("Namespace on the clusters; absent: those of the installations"),
  spokeSelector: text("Only objects with these labels"),
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
