import { accessSync, constants, statSync } from "node:fs";
import { isIPv6 } from "node:net";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { isSea } from "node:sea";

import type { Endpoint } from "../../../access/http/endpoint.ts";
import type { EndpointProxy } from "../../../access/http/proxy-url.ts";
import { loadKubeconfig } from "../../../access/hub/kubeconfig.ts";
import { FleetError } from "../../../api/errors.ts";
import { isRecord } from "../../../api/fields.ts";
import { UsageError } from "../errors.ts";
import type { Flags } from "../flags.ts";
import { hubSource } from "../hub/open-hub.ts";
import type { Terminal } from "../output/terminal.ts";

/** One cluster in a kubeconfig; its context, cluster and user have the same name. */
export interface SpokeEntry {
  /** `namespace/name` of the ClusterProfile. */
  readonly name: string;
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user: { readonly exec: ExecUser };
}

/**
 * The entry for a cluster, without a secret. Throws FleetError `RemoteClientCreationFailed` for a proxy with a password, which the file would have to
 * contain.
 */
export function spokeEntry(name: string, endpoint: Endpoint, exec: ExecUser): SpokeEntry {
  const { server, caPem, tlsServerName, insecureSkipTlsVerify, proxy } = endpoint;
  const cluster = {
    server,
    ...(caPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(caPem, "utf8").toString("base64") }),
    ...(tlsServerName === undefined ? {} : { "tls-server-name": tlsServerName }),
    ...(insecureSkipTlsVerify === true ? { "insecure-skip-tls-verify": true } : {}),
    ...(proxy === undefined ? {} : { "proxy-url": proxyUrl(name, proxy) }),
  };
  return { name, cluster, user: { exec } };
}

function proxyUrl(id: string, { protocol, host, port, login }: EndpointProxy): string {
  if (login === undefined) return `${protocol}//${isIPv6(host) ? `[${host}]` : host}:${port}`;
  throw new FleetError(
    "RemoteClientCreationFailed",
    `The proxy of ClusterProfile ${id} wants a password, which is not written to disk`,
    { code: "EndpointInvalid" },
  );
}

/** A kubeconfig of these clusters. A single cluster is the current context. */
export function kubeconfigOf(entries: readonly SpokeEntry[]): Readonly<Record<string, unknown>> {
  const [first, ...more] = entries;
  return {
    apiVersion: "v1",
    kind: "Config",
    ...(first === undefined || more.length > 0 ? {} : { "current-context": first.name }),
    clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    users: entries.map(({ name, user }) => ({ name, user })),
  };
}

/** How this program is started. */
interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

const programName = "kubectl-knfleet";

/** The program for a kubeconfig: by name when the PATH has it, so that an upgrade needs no new kubeconfig. */
export function lastingProgram(env: Terminal["env"]): Program {
  const folders = (env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  const isThere = folders.some((folder) => isExecutable(join(folder, programName)));
  return isThere ? { command: programName, args: [] } : runningProgram();
}

/** The program that runs now. */
export function runningProgram(): Program {
  const [, script = ""] = process.argv;
  return { command: process.execPath, args: isSea() ? [] : [script] };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The `exec` part of a user: what a client runs to get a credential for one cluster. */
interface ExecUser {
  readonly apiVersion: "client.authentication.k8s.io/v1";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[] | null;
  readonly interactiveMode: "Never";
  readonly provideClusterInfo: true;
}

/**
 * The `exec` part for a cluster, by its `namespace/name`. From any folder it asks the same hub with the same flags as this command. Throws UsageError for
 * a flag that must not be written to a file, such as a token.
 */
export function execUserOf(
  flags: Flags,
  { env, program }: { readonly env: Terminal["env"]; readonly program: Program },
): (id: string) => ExecUser {
  const { context, files } = loadKubeconfig(hubSource(flags, env));
  const [first, ...more] = files.map((file) => resolve(file));
  const list = [first, ...more].join(delimiter);
  const hub = [
    ...(first !== undefined && more.length === 0 ? ["--kubeconfig", first] : []),
    ...(files.length === 0 ? [] : ["--context", context]),
    ...overrideArgs(flags),
  ];
  const spokes = [
    ...(flags.providerFile === undefined
      ? []
      : ["--clusterprofile-provider-file", resolve(flags.providerFile)]),
    ...given("--plugin-namespace", flags.pluginNamespace),
    ...flags.pluginRoots.flatMap((root) => ["--plugin-root", root]),
  ];
  return (id) => ({
    apiVersion: "client.authentication.k8s.io/v1",
    command: program.command,
    args: [...program.args, "credential", id, ...hub, ...spokes],
    env: more.length === 0 ? null : [{ name: "KUBECONFIG", value: list }],
    interactiveMode: "Never",
    provideClusterInfo: true,
  });
}

/** Whether the `exec` part of a user was made by `execUserOf`. */
export function isOurUser(user: unknown): boolean {
  const exec = isRecord(user) ? user["exec"] : undefined;
  if (!isRecord(exec) || !Array.isArray(exec["args"])) return false;
  const words: readonly unknown[] = [exec["command"], ...exec["args"]];
  const at = words.indexOf("credential");
  return at > 0 && at < 3 && String(words[at - 1]).includes(programName);
}

const files = ["certificate-authority", "client-certificate", "client-key"];

function overrideArgs({ hub: { overrides = {} } }: Flags): readonly string[] {
  const { cluster, user, clusterFields = {}, userFields = {} } = overrides;
  if (userFields["token"] !== undefined) {
    throw new UsageError("--token would be written to disk: use a kubeconfig of the hub instead");
  }
  const fields = Object.entries({ ...clusterFields, ...userFields });
  return [
    ...given("--hub-cluster", cluster),
    ...given("--user", user),
    ...fields.flatMap(([name, value]) => fieldArgs(name, value)),
  ];
}

function fieldArgs(name: string, value: unknown): readonly string[] {
  if (value === true) return [`--${name}`];
  if (Array.isArray(value)) return value.flatMap((one) => ["--as-group", String(one)]);
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([key, all]) =>
      (Array.isArray(all) ? all : [all]).flatMap((one) => ["--as-user-extra", `${key}=${one}`]),
    );
  }
  const text = String(value);
  return [`--${name}`, files.includes(name) ? resolve(text) : text];
}

function given(flag: string, value: string | undefined): readonly string[] {
  return value === undefined ? [] : [flag, value];
}
