import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connectHub, type HubConnection } from "../../../access/hub/hub.ts";
import { runBuiltIn } from "../../../access/plugins/built-in-plugins.ts";
import type { Credential } from "../../../access/plugins/credential.ts";
import type { ExecPlan } from "../../../access/plugins/exec-plan.ts";
import { runExecPlugin } from "../../../access/plugins/exec-plugin.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import { isRecord, valueAt } from "../../fleet/json-record.ts";
import { useFleet } from "../../fleet/use-fleet.ts";

type Plugin = "secretreader" | "kubeconfig-secretreader";
type Config = Readonly<Record<string, unknown>>;

const fleet = useFleet({ spokes: 0 });
const namespace = "fleet-credentials";
const identity = createAuthority("spoke").issue({ commonName: "reader", usage: "client" });
const other = createAuthority("spoke").issue({ commonName: "other", usage: "client" });

let hub: HubConnection;
let commands: Readonly<Record<string, string>>;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  const { admin } = fleet().hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  for (const [name, data] of Object.entries(secrets)) {
    await admin.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace, name },
      stringData: data,
    });
  }
  const file: unknown = JSON.parse(await readFile(await fleet().providerFile(), "utf8"));
  const path = String(valueAt(file, "providers", 0, "execConfig", "env", 0, "value"));
  commands = {
    secretreader: String(valueAt(file, "providers", 0, "execConfig", "command")),
    "kubeconfig-secretreader": String(valueAt(file, "providers", 1, "execConfig", "command")),
  };
  environment = { KUBECONFIG: path };
  hub = await connectHub({
    clock: systemClock,
    kubeconfig: path,
    environment: {},
    userAgent: "knfleet-built-in-test/0",
  });
}, 600_000);

afterAll(async () => hub[Symbol.asyncDispose]());

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function kubeconfig(user: object, change: object = {}): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "one",
    contexts: [
      { name: "one", context: { cluster: "c", user: "u" } },
      { name: "lonely", context: { cluster: "c", user: "nobody" } },
      { name: "two", context: { cluster: "c", user: "v" } },
    ],
    clusters: [{ name: "c", cluster: { server: "https://elsewhere.test" } }],
    users: [
      { name: "u", user },
      { name: "v", user: { token: "of-v" } },
    ],
    ...change,
  });
}

const pair = {
  "client-certificate-data": base64(identity.certificatePem),
  "client-key-data": base64(identity.keyPem),
};

/** A JWT, not signed, that ends at this second. */
function jwt(exp: number): string {
  return ["{}", JSON.stringify({ exp })].map((part) => base64(part)).join(".") + ".c2ln";
}

const inAnHour = Math.floor(Date.now() / 1_000) + 3_600;

const secrets: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: { token: "T1" },
  lined: { token: "T1\n" },
  blank: { token: "" },
  keyless: { other: "T1" },
  jwt: { token: jwt(inAnHour) },
  token: { value: kubeconfig({ token: "K1" }) },
  yaml: {
    value:
      "current-context: one\ncontexts: [{name: one, context: {user: u}}]\nusers: [{name: u, user: {token: Y1}}]\n",
  },
  certificate: { value: kubeconfig(pair) },
  both: { value: kubeconfig({ token: "K2", ...pair }) },
  "half-key": { value: kubeconfig({ "client-key-data": base64(identity.keyPem) }) },
  "half-certificate": { value: kubeconfig({ token: "K", "client-certificate-data": "AAAA" }) },
  file: { value: kubeconfig({ "client-certificate": "/a", "client-key": "/b" }) },
  "token-file": { value: kubeconfig({ tokenFile: "/var/run/token" }) },
  basic: { value: kubeconfig({ username: "u", password: "p" }) },
  exec: { value: kubeconfig({ exec: { apiVersion: "v1", command: "x" } }) },
  none: { value: kubeconfig({}) },
  "wrong-base64": { value: kubeconfig({ "client-certificate-data": "*", "client-key-data": "*" }) },
  "wrong-type": { value: kubeconfig({ token: ["a"] }) },
  "no-context": { value: kubeconfig({ token: "K" }, { "current-context": "" }) },
  duplicates: {
    value: kubeconfig(
      {},
      {
        users: [
          { name: "u", user: { token: "A" } },
          { name: "u", user: { token: "B" } },
        ],
      },
    ),
  },
  extended: {
    value: kubeconfig({ token: "K" }, { extensions: [{ name: "x", extension: { a: 1 } }] }),
  },
  "wrong-kind": { value: kubeconfig({ token: "K" }, { kind: "Secret" }) },
  rubbish: { value: "{{{" },
  list: { value: "[]" },
};

function planOf(plugin: Plugin, config: Config | null | undefined, command: string): ExecPlan {
  const server = "https://spoke.test:6443";
  return {
    provider: plugin,
    apiVersion: "client.authentication.k8s.io/v1",
    command,
    args: [],
    env: [],
    ...(config === undefined ? {} : { cluster: { server, config } }),
    installHint: "",
    timeoutMs: 60_000,
  };
}

/** What came out, without the words of an error. */
async function outcomeOf(credential: Promise<Credential>): Promise<unknown> {
  try {
    const { authorization, certificate, expiresAtMs } = await credential;
    return {
      authorization: authorization?.reveal(),
      certificate: certificate?.certificatePem,
      key: certificate?.keyPem.reveal(),
      expiresAtMs,
    };
  } catch (error) {
    if (error instanceof FleetError) return `${error.reason} ${error.code}`;
    throw error;
  }
}

/** What is expected, with the end of the certificate that is part of it. */
function whole(gives: unknown): unknown {
  const ends = new X509Certificate(identity.certificatePem).validToDate.getTime();
  const ending = isRecord(gives) && "certificate" in gives ? { expiresAtMs: ends } : {};
  return isRecord(gives) ? { ...gives, ...ending } : gives;
}

function official(plugin: Plugin, config: Config | null | undefined): Promise<unknown> {
  const plan = planOf(plugin, config, commands[plugin] ?? "");
  const surroundings = { clock: systemClock, environment };
  return outcomeOf(runExecPlugin(plan, surroundings, AbortSignal.timeout(60_000)));
}

function builtIn(plugin: Plugin, config: Config | null | undefined): Promise<unknown> {
  const plan = planOf(plugin, config, `builtin:${plugin}`);
  const surroundings = { clock: systemClock, environment, hub: hub.client };
  return outcomeOf(runBuiltIn(plan, surroundings, AbortSignal.timeout(60_000)));
}

const failed = "AccessProviderFailed PluginFailed";
const rejected = "AccessProviderFailed PluginOutputInvalid";

describe("builtin:secretreader gives what secretreader gives", () => {
  test.each<{ config: Config | null | undefined; gives: unknown }>([
    { config: { clusterName: "plain" }, gives: { authorization: "Bearer T1" } },
    { config: { clusterName: "plain", unknown: 1 }, gives: { authorization: "Bearer T1" } },
    { config: { CLUSTERNAME: "plain" }, gives: { authorization: "Bearer T1" } },
    { config: { clusterName: "lined" }, gives: { authorization: "Bearer T1" } },
    {
      config: { clusterName: "jwt" },
      gives: { authorization: `Bearer ${jwt(inAnHour)}`, expiresAtMs: inAnHour * 1_000 },
    },
    { config: { clusterName: "blank" }, gives: failed },
    { config: { clusterName: "keyless" }, gives: failed },
    { config: { clusterName: "absent" }, gives: failed },
    { config: { clusterName: "Not A Name" }, gives: failed },
    { config: { clusterName: "../plain" }, gives: failed },
    { config: { clusterName: "" }, gives: failed },
    { config: { clusterName: 1 }, gives: failed },
    { config: {}, gives: failed },
    { config: null, gives: failed },
    { config: undefined, gives: failed },
  ])("for $config", async ({ config, gives }) => {
    expect(await builtIn("secretreader", config)).toEqual(whole(gives));
    expect(await official("secretreader", config)).toEqual(whole(gives));
  });
});

describe("builtin:kubeconfig-secretreader gives what kubeconfig-secretreader gives", () => {
  test.each([
    { name: "token", gives: { authorization: "Bearer K1" } },
    { name: "yaml", gives: { authorization: "Bearer Y1" } },
    { name: "certificate", gives: { certificate: identity.certificatePem, key: identity.keyPem } },
    {
      name: "both",
      gives: {
        authorization: "Bearer K2",
        certificate: identity.certificatePem,
        key: identity.keyPem,
      },
    },
    { name: "token", more: { context: "two" }, gives: { authorization: "Bearer of-v" } },
    { name: "token", more: { namespace }, gives: { authorization: "Bearer K1" } },
    { name: "token", more: { namespace: "default" }, gives: failed },
    { name: "token", more: { context: "lonely" }, gives: failed },
    { name: "token", more: { context: "absent" }, gives: failed },
    { name: "token", more: { key: "" }, gives: failed },
    { name: "token", more: { key: "absent" }, gives: failed },
    { name: "", gives: failed },
    { name: "absent", gives: failed },
    { name: "half-key", gives: failed },
    { name: "half-certificate", gives: failed },
    { name: "file", gives: failed },
    { name: "token-file", gives: failed },
    { name: "basic", gives: failed },
    { name: "exec", gives: failed },
    { name: "none", gives: failed },
    { name: "wrong-base64", gives: failed },
    { name: "wrong-type", gives: failed },
    { name: "no-context", gives: failed },
    { name: "duplicates", gives: failed },
    { name: "extended", gives: failed },
    { name: "wrong-kind", gives: failed },
    { name: "rubbish", gives: failed },
    { name: "list", gives: failed },
  ])("for the Secret $name with $more", async ({ name, more, gives }) => {
    const config = { name, key: "value", ...more };
    expect(await builtIn("kubeconfig-secretreader", config)).toEqual(whole(gives));
    expect(await official("kubeconfig-secretreader", config)).toEqual(whole(gives));
  });
});

test("a token that has ended by its own word is not sent", async () => {
  const metadata = { namespace, name: "ended" };
  const stringData = { token: jwt(inAnHour - 7_200) };
  await fleet().hub.admin.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData });
  expect(await builtIn("secretreader", { clusterName: "ended" })).toBe(rejected);
});

test("a pair that does not fit is refused", async () => {
  const metadata = { namespace, name: "unfit" };
  const user = { ...pair, "client-key-data": base64(other.keyPem) };
  const stringData = { value: kubeconfig(user) };
  await fleet().hub.admin.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData });
  const config = { name: "unfit", key: "value" };
  expect(await builtIn("kubeconfig-secretreader", config)).toBe(rejected);
  expect(await official("kubeconfig-secretreader", config)).toBe(rejected);
});

test("an unknown built-in reader and a missing right are told apart", async () => {
  const surroundings = { clock: systemClock, environment, hub: hub.client };
  const signal = AbortSignal.timeout(60_000);
  const unknown = planOf("secretreader", { clusterName: "plain" }, "builtin:nothing");
  expect(await outcomeOf(runBuiltIn(unknown, surroundings, signal))).toBe(
    "AccessProviderFailed PluginNotFound",
  );
  const foreign = { name: "x", key: "y", namespace: "kube-system" };
  const plan = planOf("kubeconfig-secretreader", foreign, "builtin:kubeconfig-secretreader");
  await expect(runBuiltIn(plan, surroundings, signal)).rejects.toThrow(
    "Secret kube-system/x may not be read: the right to get secrets in namespace kube-system is missing",
  );
});
