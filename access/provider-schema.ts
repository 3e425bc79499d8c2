import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string" } as const;

/**
 * Shape of a provider file after its keys have got their canonical case. Unknown keys are allowed everywhere.
 * Spec: cluster-inventory.md 2.2; `systemRoots` is ours and ignored by Go.
 */
export const providerFileSchema = {
  type: "object",
  properties: {
    providers: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: text,
          execConfig: {
            type: "object",
            properties: {
              apiVersion: text,
              command: text,
              args: { type: "array", items: text },
              env: {
                type: "array",
                items: { type: "object", properties: { name: text, value: text } },
              },
              provideClusterInfo: { type: "boolean" },
              installHint: text,
              interactiveMode: text,
            },
          },
          profileSourcedCLIArgsPolicy: text,
          profileSourcedEnvVarsPolicy: text,
          systemRoots: { type: "boolean" },
        },
      },
    },
  },
} as const;

export type RawProviderFile = FromSchema<typeof providerFileSchema>;
export type RawProvider = NonNullable<RawProviderFile["providers"]>[number];
export type RawExec = NonNullable<RawProvider["execConfig"]>;

/** The part of JSON Schema that the provider file uses, as seen by the key matcher. */
export interface KeySchema {
  readonly type: string;
  readonly properties?: Readonly<Record<string, KeySchema>>;
  readonly items?: KeySchema;
}
