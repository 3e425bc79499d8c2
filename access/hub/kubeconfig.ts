import { delimiter, dirname, join, resolve } from "node:path";

import { isRecord } from "../../api/fields.ts";
import { contentOf, invalid, parsed } from "./kubeconfig-file.ts";

/** Where to look for the hub. */
export interface KubeconfigSource {
  /** File of the flag; the environment is not used then. */
  readonly kubeconfig?: string;
  /** Context of the flag; default: `current-context`. */
  readonly context?: string;
  /** Values of other flags; they win over the files. */
  readonly overrides?: HubOverrides;
  /** `KUBECONFIG`, `HOME`, `KUBERNETES_SERVICE_HOST`, `KUBERNETES_SERVICE_PORT` and, for the hub, the variables of proxies are read. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Parts of a kubeconfig that flags replace, each with the meaning that it has in kubectl. */
export interface HubOverrides {
  /** Name of the entry of `clusters` to use instead of the context's. */
  readonly cluster?: string;
  /** Name of the entry of `users` to use instead of the context's. */
  readonly user?: string;
  /** `server`, `tls-server-name`, `certificate-authority` and `insecure-skip-tls-verify` of the cluster. */
  readonly clusterFields?: Fields;
  /** `token`, `client-certificate`, `client-key`, `as`, `as-uid`, `as-groups` and `as-user-extra` of the user. */
  readonly userFields?: Fields;
}

/** A context with its cluster and its user. */
export interface HubConfig {
  readonly context: string;
  readonly namespace: string;
  readonly cluster: Fields;
  readonly user: Fields;
  /** Files that were read, in order; empty inside a cluster. */
  readonly files: readonly string[];
  /** Whether it is the pod's own cluster, by its service account. */
  readonly isInCluster?: true;
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Finds the context to use: in the file of the flag, else in the files of `KUBECONFIG` (the first file that sets a value wins), else in
 * `~/.kube/config`, else the service account of the pod. Relative paths in a file are relative to the folder of that file.
 *
 * Throws `FleetError` `ConfigInvalid`, whose message quotes no secret.
 */
export function loadKubeconfig(source: KubeconfigSource): HubConfig {
  const files = filesOf(source);
  const documents = files.flatMap((file) => {
    const content = contentOf(file);
    if (content === undefined && !isNamed(source)) return [];
    if (content === undefined) throw invalid(`The kubeconfig ${file} cannot be read`);
    return [withAbsolutePaths(parsed(content, file), dirname(resolve(file)))];
  });
  return overridden(configOf(documents, { files, source }), source.overrides);
}

function configOf(
  documents: readonly Fields[],
  { files, source }: { readonly files: readonly string[]; readonly source: KubeconfigSource },
): HubConfig {
  const { context, overrides = {} } = source;
  const hasContext = context !== undefined || documents.some(currentContextOf);
  if (overrides.clusterFields?.["server"] !== undefined && !hasContext) {
    // As in kubectl: --server alone is enough, without a kubeconfig.
    return { context: "flags", namespace: "default", cluster: {}, user: {}, files };
  }
  if (documents.length === 0) return inCluster(source);
  return contextOf(documents, { files, contextFlag: context, overrides });
}

function currentContextOf(document: Fields): unknown {
  const name = document["current-context"];
  return name === "" || name === null ? undefined : name;
}

function overridden(config: HubConfig, overrides: HubOverrides = {}): HubConfig {
  const { clusterFields = {}, userFields = {} } = overrides;
  return {
    ...config,
    cluster: withOverrides(config.cluster, clusterFields),
    user: withOverrides(config.user, userFields),
  };
}

/** By field that a flag sets: the other fields of the kubeconfig that it makes void. */
const voidedFields: Readonly<Record<string, readonly string[]>> = {
  server: ["tls-server-name"],
  "certificate-authority": ["certificate-authority-data", "insecure-skip-tls-verify"],
  "insecure-skip-tls-verify": ["certificate-authority-data", "certificate-authority"],
  token: ["tokenFile", "exec", "auth-provider", "username", "password"],
  "client-certificate": ["client-certificate-data", "exec", "auth-provider"],
  "client-key": ["client-key-data"],
  as: ["as-uid", "as-groups", "as-user-extra"],
};

function withOverrides(fields: Fields, overrides: Fields): Fields {
  const voided = Object.keys(overrides).flatMap((name) => voidedFields[name] ?? []);
  const kept = Object.entries(fields).filter(([name]) => !voided.includes(name));
  return { ...Object.fromEntries(kept), ...overrides };
}

/** The names of all contexts in the files, each once. Files that cannot be read are left out. */
export function contextNames(source: KubeconfigSource): readonly string[] {
  const names = filesOf(source).flatMap((file) => {
    const content = contentOf(file);
    if (content === undefined) return [];
    return entriesOf(parsed(content, file), "contexts", "context").map(([name]) => name);
  });
  return [...new Set(names)];
}

function isNamed({ kubeconfig = "" }: KubeconfigSource): boolean {
  return kubeconfig !== "";
}

function filesOf({ kubeconfig = "", environment }: KubeconfigSource): readonly string[] {
  if (kubeconfig !== "") return [kubeconfig];
  const listed = (environment["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (listed.length > 0) return listed;
  const home = environment["HOME"] ?? "";
  return home === "" ? [] : [join(home, ".kube", "config")];
}

const pathFields = [
  "certificate-authority",
  "client-certificate",
  "client-key",
  "tokenFile",
] as const;

function withAbsolutePaths(config: Fields, folder: string): Fields {
  const absolute = (fields: Fields): Fields => {
    const paths = pathFields.flatMap((name) => {
      const path = fields[name];
      return typeof path === "string" && path !== "" ? [[name, resolve(folder, path)]] : [];
    });
    const exec = fields["exec"];
    const command = isRecord(exec) ? exec["command"] : undefined;
    return {
      ...fields,
      ...Object.fromEntries(paths),
      // As in kubectl: a command with a slash is relative to the file, one without is looked up in PATH.
      ...(isRecord(exec) && typeof command === "string" && command.includes("/")
        ? { exec: { ...exec, command: resolve(folder, command) } }
        : {}),
    };
  };
  return {
    ...config,
    clusters: entriesOf(config, "clusters", "cluster").map(([name, cluster]) => ({
      name,
      cluster: absolute(cluster),
    })),
    users: entriesOf(config, "users", "user").map(([name, user]) => ({
      name,
      user: absolute(user),
    })),
  };
}

function entriesOf(
  config: Fields,
  list: "clusters" | "users" | "contexts",
  field: "cluster" | "user" | "context",
): readonly (readonly [string, Fields])[] {
  const items: unknown = config[list];
  if (!Array.isArray(items)) return [];
  return items.filter(isRecord).map((item) => {
    const fields = item[field];
    const { name } = item;
    return [typeof name === "string" ? name : "", isRecord(fields) ? fields : {}] as const;
  });
}

interface ContextOptions {
  readonly files: readonly string[];
  /** Name that a flag gives; wins over `current-context`. */
  readonly contextFlag: string | undefined;
  readonly overrides: HubOverrides;
}

function contextOf(
  documents: readonly Fields[],
  { files, contextFlag, overrides }: ContextOptions,
): HubConfig {
  const find: Find = (list, field, name) =>
    documents
      .flatMap((document) => entriesOf(document, list, field))
      .find(([each]) => each === name)?.[1];
  const current = documents.map(currentContextOf).find((name) => name !== undefined);
  const name = contextFlag ?? current;
  const paths = files.join(delimiter);
  if (typeof name !== "string" || name === "") {
    throw invalid(`The kubeconfig ${paths} has no current-context; name one with --context`);
  }
  const context = find("contexts", "context", name);
  if (context === undefined) throw invalid(`The kubeconfig ${paths} has no context "${name}"`);
  const cluster = entryNamed(find, {
    list: "clusters",
    field: "cluster",
    context,
    overrides,
    paths,
  });
  if (cluster === undefined) {
    throw invalid(`The context "${name}" of ${paths} names a cluster that is not there`);
  }
  const user = entryNamed(find, { list: "users", field: "user", context, overrides, paths });
  const { namespace } = context;
  return {
    context: name,
    namespace: typeof namespace === "string" && namespace !== "" ? namespace : "default",
    cluster,
    user: user ?? {},
    files,
  };
}

type Find = (
  list: "clusters" | "users" | "contexts",
  field: "cluster" | "user" | "context",
  name: unknown,
) => Fields | undefined;

interface NamedEntry extends Pick<ContextOptions, "overrides"> {
  readonly list: "clusters" | "users";
  readonly field: "cluster" | "user";
  readonly context: Fields;
  /** Of the kubeconfig files, for messages. */
  readonly paths: string;
}

/** The entry that a flag names, or else the context's. Throws when the flag names an entry that does not exist. */
function entryNamed(
  find: Find,
  { list, field, context, overrides, paths }: NamedEntry,
): Fields | undefined {
  const flag = overrides[field];
  const entry = find(list, field, flag ?? context[field]);
  if (entry === undefined && flag !== undefined) {
    throw invalid(`The kubeconfig ${paths} has no ${field} "${flag}"`);
  }
  return entry;
}

function inCluster({ environment, context }: KubeconfigSource): HubConfig {
  const host = environment["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = environment["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (host === "") {
    const named = environment["KUBECONFIG"] ?? "";
    const files =
      named === "" ? "there is no kubeconfig" : `there is no file at KUBECONFIG=${named}`;
    throw invalid(`No hub: ${files}, and this is not inside a cluster; use --kubeconfig`);
  }
  return {
    context: context ?? "in-cluster",
    namespace: contentOf(`${serviceAccount}/namespace`)?.trim() ?? "default",
    cluster: {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      "certificate-authority": `${serviceAccount}/ca.crt`,
    },
    user: { tokenFile: `${serviceAccount}/token` },
    files: [],
    isInCluster: true,
  };
}
