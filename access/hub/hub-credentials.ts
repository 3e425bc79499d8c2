import { readFile } from "node:fs/promises";

import { FleetError } from "../../api/errors.ts";
import { isRecord } from "../../api/fields.ts";
import { type Credential, execApiVersions, Secret } from "../plugins/credential.ts";
import type { ExecPlan } from "../plugins/exec-plan.ts";
import { type PluginSurroundings, runExecPlugin } from "../plugins/exec-plugin.ts";
import type { HubConfig } from "./kubeconfig.ts";

type Fields = Readonly<Record<string, unknown>>;

const tokenFileMs = 60_000;

/**
 * Obtains the credential of a kubeconfig user: token, token file, client certificate, basic authentication, exec plugin, or an
 * `auth-provider` that client-node supports. A user without any of them gets an empty credential, so requests are anonymous.
 *
 * Throws `FleetError` `ConfigInvalid` or, for a plugin, `AccessProviderFailed`.
 */
export async function hubCredential(
  config: HubConfig,
  surroundings: PluginSurroundings,
  signal: AbortSignal,
): Promise<Credential> {
  const { user } = config;
  const headers = impersonationHeaders(user);
  const credential =
    (await staticCredential(user, surroundings)) ??
    (await dynamicCredential(config, surroundings, signal));
  return headers === undefined ? credential : { ...credential, headers };
}

async function staticCredential(
  user: Fields,
  { clock }: PluginSurroundings,
): Promise<Credential | undefined> {
  const certificatePem = await pemOf(user, "client-certificate");
  const key = await pemOf(user, "client-key");
  const certificate =
    certificatePem === undefined || key === undefined
      ? {}
      : { certificate: { certificatePem, keyPem: new Secret(key) } };
  const file = textOf(user["tokenFile"]);
  if (file !== "") {
    const token = (await readText(file)).trim();
    // The kubelet replaces mounted tokens in place, so the file is read again once a minute.
    return { ...certificate, ...bearer(token), expiresAtMs: clock.date().getTime() + tokenFileMs };
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
  surroundings: PluginSurroundings,
  signal: AbortSignal,
): Promise<Credential> {
  const { exec, "auth-provider": authProvider } = config.user;
  if (isRecord(exec)) {
    return runExecPlugin(loginPlan(exec, config.cluster), surroundings, signal);
  }
  if (isRecord(authProvider)) return authProviderCredential(config);
  return Promise.resolve({});
}

function loginPlan(exec: Fields, cluster: Fields): ExecPlan {
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
    // Long enough for a person to log in.
    timeoutMs: 60_000,
  };
}

function clusterInfo(cluster: Fields): Fields {
  const { extensions, ...settings } = cluster;
  const named = Array.isArray(extensions) ? extensions.filter(isRecord) : [];
  const config = named.find(({ name }) => name === "client.authentication.k8s.io/exec");
  return { ...settings, "certificate-authority": undefined, config: config?.["extension"] ?? null };
}

/** Logs in by OIDC or a cloud's `auth-provider`. Imported on demand, because client-node takes 60 MB of memory. */
async function authProviderCredential({ cluster, user }: HubConfig): Promise<Credential> {
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

/** The headers that impersonate a user. As in kubectl, groups, uid and extra fields need a user name. */
function impersonationHeaders(user: Fields): Readonly<Record<string, string>> | undefined {
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
 * One header for each value. undici joins the values of one header with commas over HTTP/2, and the API server reads the result as one value.
 * So each value gets the header name in its own mix of upper and lower case, which servers ignore.
 */
function repeated(name: string, values: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(values.map((value, at) => [mixedCase(name, at), value]));
}

/** Writes the n-th letter of a name in upper case when the n-th bit of the number is set. */
function mixedCase(name: string, number: number): string {
  let bits = number;
  return name.replaceAll(/[a-z]/g, (letter) => {
    const isUpper = bits % 2 === 1;
    bits = Math.floor(bits / 2);
    return isUpper ? letter.toUpperCase() : letter;
  });
}

// Keys may hold any character and header names may not: the others are percent-encoded.
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

/** The PEM text of a kubeconfig field, which is base64 in `NAME-data` or a file named in `NAME`; undefined when both are missing. */
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
