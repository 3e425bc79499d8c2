/** The JSON Schema of the arguments of one tool. */
export interface ToolSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, object>>;
  readonly required: string[];
  readonly additionalProperties: false;
}

export const textArgument = (description: string, maxLength = 500) =>
  ({ type: "string", minLength: 1, maxLength, description }) as const;

export const wordsArgument = (description: string) => {
  const items = { type: "string", minLength: 1, maxLength: 300 } as const;
  return { type: "array", items, minItems: 1, maxItems: 100, description } as const;
};

export const switchArgument = (description: string) => ({ type: "boolean", description }) as const;

/** Arguments of tools for flags that every command has. */
export const commonArguments = {
  namespace: textArgument("Namespace on the hub; absent: all"),
  selector: textArgument("Label selector of installations, as for kubectl -l"),
  cluster: textArgument("Glob for names of ClusterProfiles, such as eu-*"),
  on: textArgument("Selector for labels and properties of ClusterProfiles, such as region=eu"),
  failed: switchArgument("Only installations that are not fine"),
  reason: textArgument("Only installations with this reason or KNF number"),
} as const;

export type CommonArgument = keyof typeof commonArguments;

/** The common arguments that select installations. */
export const selectionArguments = [
  "namespace",
  "selector",
  "cluster",
  "on",
  "failed",
  "reason",
] as const satisfies readonly CommonArgument[];
