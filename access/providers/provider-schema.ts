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

/** A key as Go's JSON decoder compares it: without case, and with the long s and the Kelvin sign as the letters they look like. */
export function foldedKey(key: string): string {
  // Upper case first: that is what folds these two.
  return key.toUpperCase().toLowerCase();
}

const defaultMs = 30_000;
const minMs = 1_000;
const maxMs = 300_000;
const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** A `timeout` of the provider file in ms, such as `30s` or `1m30s`; undefined when it is no duration from 1 s to 5 min. */
export function timeoutMsOf(duration: string | undefined): number | undefined {
  if (duration === undefined || duration === "") return defaultMs;
  if (!/^(?:\d{1,6}(?:\.\d{1,3})?(?:ms|s|m))+$/.test(duration)) return undefined;
  const parts = [...duration.matchAll(/([\d.]+)(ms|s|m)/g)];
  const sum = parts.reduce(
    (ms, [, count = "", unit = ""]) => ms + Number(count) * (units[unit] ?? 0),
    0,
  );
  return sum >= minMs && sum <= maxMs ? sum : undefined;
}
