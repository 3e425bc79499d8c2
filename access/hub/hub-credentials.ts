import { readFile } from "node:fs/promises";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { type Credential, execApiVersions, Secret } from "../plugins/credential.ts";
import type { ExecPlan } from "../plugins/exec-plan.ts";
import { runExecPlugin } from "../plugins/exec-plugin.ts";
import type { HubConfig } from "./kubeconfig.ts";

type Fields = Readonly<Record<string, unknown>>;

const tokenFileMs = 60_000;

/**
 * Obtains the credential of a kubeconfig user: token, token file, client certificate, basic, exec plugin, or one of the
 * logins of client-node (`auth-provider`). Anonymous when the user has none.
 *
 * Throws `FleetError` `ConfigInvalid` or, for a plugin, `AccessProviderFailed`.
 */
export async function hubCredential(
  config: HubConfig,
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Credential> {
  const { user } = config;
  const impersonated = impersonation(user);
  const fixed = await staticCredential(user);
  const found = fixed ?? (await dynamicCredential(config, environment, signal));
  return impersonated === undefined ? found : { ...found, headers: impersonated };
}

async function staticCredential(user: Fields): Promise<Credential | undefined> {
  const certificatePem = await pemOf(user, "client-certificate");
  const key = await pemOf(user, "client-key");
  const certificate =
    certificatePem === undefined || key === undefined
      ? {}
      : { certificate: { certificatePem, keyPem: new Secret(key) } };
  const file = textOf(user["tokenFile"]);
  if (file !== "") {
    const token = (await readText(file)).trim();
    // Mounted tokens are replaced in place, so the file is read again once a minute.
    return { ...certificate, ...bearer(token), expiresAtMs: Date.now() + tokenFileMs };
  }
  const token = textOf(user["token"]);
  if (token !== "") return { ...certificate, ...bearer(token) };
  const name = textOf(user["username"]);
  if (name !== "") {
    const pair = Buffer.from(`${name}:${textOf(user["password"])}`).toString("base64");
    return { ...certificate, authorization: new Secret(`Basic ${pair}`) };
  }
  return "certificate" in certificate ? certificate : undefined;
}

function dynamicCredential(
  config: HubConfig,
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Credential> {
  const { exec, "auth-provider": authProvider } = config.user;
  if (isRecord(exec)) {
    const surroundings = { environment, now: () => new Date() };
    return runExecPlugin(planOf(exec, config.cluster), surroundings, signal);
  }
  if (isRecord(authProvider)) return byClientNode(config);
  return Promise.resolve({});
}

function planOf(exec: Fields, cluster: Fields): ExecPlan {
  const apiVersion = execApiVersions.find((version) => version === exec["apiVersion"]);
  const command = textOf(exec["command"]);
  if (apiVersion === undefined || command === "") {
    throw invalid(
      `The exec login of the kubeconfig needs a command and one of ${execApiVersions.join(", ")}`,
    );
  }
  const args: unknown = exec["args"] ?? [];
  const env: unknown = exec["env"] ?? [];
  return {
    provider: "kubeconfig",
    apiVersion,
    command,
    args: Array.isArray(args) ? args.map(String) : [],
    env: Array.isArray(env)
      ? env
          .filter(isRecord)
          .map(({ name, value }) => ({ name: textOf(name), value: textOf(value) }))
      : [],
    ...(exec["provideClusterInfo"] === true ? { cluster: clusterInfo(cluster) } : {}),
    installHint: textOf(exec["installHint"]),
    // A person may have to log in.
    timeoutMs: 60_000,
  };
}

function clusterInfo(cluster: Fields): Fields {
  const { extensions, ...settings } = cluster;
  const named = Array.isArray(extensions) ? extensions.filter(isRecord) : [];
  const config = named.find(({ name }) => name === "client.authentication.k8s.io/exec");
  return { ...settings, "certificate-authority": undefined, config: config?.["extension"] ?? null };
}

/** OIDC and the cloud logins. Loaded on demand: client-node takes 60 MB of memory. */
async function byClientNode({ cluster, user }: HubConfig): Promise<Credential> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name: "hub", cluster }],
      users: [{ name: "hub", user }],
      contexts: [{ name: "hub", context: { cluster: "hub", user: "hub" } }],
      "current-context": "hub",
    }),
  );
  const options: { headers: Record<string, string> } = { headers: {} };
  await config.applyToHTTPSOptions(options);
  const authorization = options.headers["Authorization"];
  return authorization === undefined ? {} : { authorization: new Secret(authorization) };
}

/** The headers of an impersonation; kubectl's rule that groups, uid and extra need a user stands. */
function impersonation(user: Fields): Readonly<Record<string, string>> | undefined {
  const name = textOf(user["as"]);
  const uid = textOf(user["as-uid"]);
  const groups = textsOf(user["as-groups"]);
  const extra = Object.entries(isRecord(user["as-user-extra"]) ? user["as-user-extra"] : {});
  if (name === "") {
    if (uid === "" && groups.length + extra.length === 0) return undefined;
    throw invalid(
      "Groups, a uid or extra fields are impersonated without a user; name one with as",
    );
  }
  return {
    "impersonate-user": name,
    ...(uid === "" ? {} : { "impersonate-uid": uid }),
    ...repeated("impersonate-group", groups),
    ...Object.assign(
      {},
      ...extra.map(([key, values]) => repeated(extraHeader(key), textsOf(values))),
    ),
  };
}

/**
 * One header for each value. The API server reads a list with commas as one value, and undici joins the values of one header over HTTP/2.
 * So every value gets its own spelling of the name; on the wire all of them are one name.
 */
function repeated(name: string, values: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(values.map((value, at) => [spelling(name, at), value]));
}

/** The letters of a name, upper case where the bits of the number say so. */
function spelling(name: string, number: number): string {
  let bits = number;
  return name.replaceAll(/[a-z]/g, (letter) => {
    const isUpper = bits % 2 === 1;
    bits = Math.floor(bits / 2);
    return isUpper ? letter.toUpperCase() : letter;
  });
}

// A key may be anything, a header's name may not: other characters are written as in a URL.
function extraHeader(key: string): string {
  const escaped = encodeURIComponent(key.toLowerCase()).replaceAll(/[()]/g, escapeOf);
  return `impersonate-extra-${escaped}`;
}

function escapeOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** A PEM text that a kubeconfig holds as base64 (`…-data`) or names as a file. */
export async function pemOf(fields: Fields, name: string): Promise<string | undefined> {
  const data = textOf(fields[`${name}-data`]);
  if (data !== "") return Buffer.from(data, "base64").toString("utf8");
  const file = textOf(fields[name]);
  return file === "" ? undefined : readText(file);
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new FleetError("ConfigInvalid", `The file ${file} of the kubeconfig cannot be read`, {
      cause,
    });
  }
}

function bearer(token: string): Pick<Credential, "authorization"> {
  return token === "" ? {} : { authorization: new Secret(`Bearer ${token}`) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function invalid(message: string): FleetError {
  return new FleetError("ConfigInvalid", message);
}
