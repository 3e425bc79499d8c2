import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;

/**
 * Shape of one provider after its keys have got their canonical case. Unknown keys are allowed everywhere. From `timeout`
 * on the keys are ours and ignored by Go. Spec: cluster-inventory.md 2.2.
 */
export const providerSchema = {
  type: "object",
  properties: {
    name: text,
    execConfig: {
      type: "object",
      properties: {
        apiVersion: text,
        command: text,
        args: texts,
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
    timeout: text,
    sha256: text,
    maxConcurrency: { type: "integer", minimum: 1, maximum: 64 },
    systemRoots: { type: "boolean" },
    allowInsecure: { type: "boolean" },
    allowedNamespaces: texts,
    allowedClusterManagers: texts,
    allowedServers: texts,
    allowedProxies: texts,
    allowedConfigKeys: texts,
    allowedEnvNames: texts,
    requiredConfig: { type: "object", additionalProperties: text },
  },
} as const;

/** Keys of a provider file by where they may stand. */
export const providerFileKeys: KeySchema = {
  type: "object",
  properties: { providers: { type: "array", items: providerSchema } },
};

export type RawProvider = FromSchema<typeof providerSchema>;
export type RawExec = NonNullable<RawProvider["execConfig"]>;

/** The part of JSON Schema that the provider file uses, as seen by the key matcher. */
export interface KeySchema {
  readonly type: string;
  readonly properties?: Readonly<Record<string, KeySchema>>;
  readonly items?: KeySchema;
  /** Any key, written as it is meant. */
  readonly additionalProperties?: KeySchema;
}
