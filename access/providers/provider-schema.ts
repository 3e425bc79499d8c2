import type { FromSchema } from "json-schema-to-ts";

const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;

/**
 * JSON Schema of one provider, whose keys have their canonical case. Unknown keys are allowed everywhere. The keys from `timeout`
 * on are our own, and Go ignores them. Spec: cluster-inventory.md 2.2.
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

/** The known keys of a provider file. */
export const providerFileKeys: KeySchema = {
  type: "object",
  properties: { providers: { type: "array", items: providerSchema } },
};

export type RawProvider = FromSchema<typeof providerSchema>;
export type RawExec = NonNullable<RawProvider["execConfig"]>;

/** The part of JSON Schema that `canonicalKeys` reads. */
export interface KeySchema {
  readonly type: string;
  readonly properties?: Readonly<Record<string, KeySchema>>;
  readonly items?: KeySchema;
  /** Allows every key, whose case is kept. */
  readonly additionalProperties?: KeySchema;
}

/** A key for comparison as in Go's JSON decoder: case does not matter, and the long s and the Kelvin sign equal s and k. */
export function foldedKey(key: string): string {
  // Upper case first, which is what maps the long s to S.
  return key.toUpperCase().toLowerCase();
}

const defaultMs = 30_000;
const minMs = 1_000;
const maxMs = 300_000;
const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** A `timeout` of the provider file, such as `30s` or `1m30s`, in ms; undefined unless it is a duration from 1 s to 5 min. */
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
