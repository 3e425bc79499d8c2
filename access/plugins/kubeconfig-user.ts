import { parseDocument } from "yaml";

import { isRecord, listAt } from "../../api/fields.ts";
import { costProblem } from "../providers/provider-document.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The credential of a kubeconfig in a Secret; fields as in the status of an ExecCredential. */
export interface KubeconfigUser {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
}

/** A kubeconfig is not usable. The message is the end of a sentence and never quotes the kubeconfig. */
export class KubeconfigUserError extends Error {}

/** A context of a kubeconfig with its cluster and its user. */
export interface KubeconfigContext {
  readonly name: string;
  readonly cluster: Fields;
  readonly user: Fields;
}

/**
 * Token and inline client certificate of the user of a context; an empty `context` means the current one. Ignores servers, files
 * and login plugins. Throws KubeconfigUserError. Spec: cluster-inventory.md 4.2.
 */
export function kubeconfigUser(text: string, context: string): KubeconfigUser {
  const config = parseKubeconfig(text);
  return credentialOf(userOf(config, contextOf(config, context)));
}

/** A context of a kubeconfig that was parsed; an empty name means the current one. Throws KubeconfigUserError. */
export function kubeconfigContext(config: Fields, context: string): KubeconfigContext {
  const chosen = contextOf(config, context);
  const name = textOf(chosen["cluster"]);
  const cluster = entryOf(config, { list: "clusters", field: "cluster", name });
  if (cluster === undefined) {
    throw new KubeconfigUserError("does not have the cluster of the context");
  }
  return { name: contextName(config, context), cluster, user: userOf(config, chosen) };
}

/** The credential of a user that the reader takes. Throws KubeconfigUserError. */
export function credentialOf(user: Fields): KubeconfigUser {
  const token = textOf(user["token"]);
  const pair = pairOf(user);
  if (token === "" && pair === undefined) {
    throw new KubeconfigUserError("has neither a token nor an inline client certificate");
  }
  return { ...(token === "" ? {} : { token }), ...pair };
}

function contextName(config: Fields, context: string): string {
  const name = context === "" ? textOf(config["current-context"]) : context;
  if (name === "") throw new KubeconfigUserError("has no current-context");
  return name;
}

function contextOf(config: Fields, context: string): Fields {
  const name = contextName(config, context);
  const chosen = entryOf(config, { list: "contexts", field: "context", name });
  if (chosen === undefined) throw new KubeconfigUserError("does not have the context");
  return chosen;
}

function userOf(config: Fields, context: Fields): Fields {
  const user = entryOf(config, { list: "users", field: "user", name: textOf(context["user"]) });
  if (user === undefined) throw new KubeconfigUserError("does not have the user of the context");
  return user;
}

/** Parses a kubeconfig without extensions, within limits of size and cost. Throws KubeconfigUserError. */
export function parseKubeconfig(text: string): Fields {
  if (costProblem(text, "yaml") !== undefined) throw new KubeconfigUserError("is too large");
  const document = parseDocument(text, { logLevel: "silent" });
  if (document.errors.length > 0) throw new KubeconfigUserError("is not YAML");
  const config = plainOf(() => document.toJS({ maxAliasCount: 100 }));
  const { kind = "Config", apiVersion = "v1" } = isRecord(config) ? config : { kind: "" };
  if (!isRecord(config) || kind !== "Config" || apiVersion !== "v1") {
    throw new KubeconfigUserError("is not a kubeconfig");
  }
  if (listAt(config, "extensions").length > 0) {
    throw new KubeconfigUserError("has extensions, which are not supported");
  }
  return config;
}

function plainOf(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    // The text has too many aliases. The parser's error is dropped, because it quotes the text.
    return undefined;
  }
}

interface EntryRef {
  readonly list: "contexts" | "users" | "clusters";
  readonly field: "context" | "user" | "cluster";
  readonly name: string;
}

function entryOf(config: Fields, { list, field, name }: EntryRef): Fields | undefined {
  const entries: unknown = config[list] ?? [];
  if (!Array.isArray(entries)) throw new KubeconfigUserError(`has ${list} that are no list`);
  const [entry, duplicate] = entries
    .filter(isRecord)
    .filter((each) => textOf(each["name"]) === name);
  if (duplicate !== undefined) throw new KubeconfigUserError(`has two ${list} of one name`);
  if (entry === undefined) return undefined;
  const fields = entry[field] ?? {};
  if (!isRecord(fields)) throw new KubeconfigUserError(`has a ${field} that is no object`);
  return fields;
}

function pairOf(
  user: Fields,
): Pick<KubeconfigUser, "clientCertificateData" | "clientKeyData"> | undefined {
  const certificate = partOf(user, "client-certificate");
  const key = partOf(user, "client-key");
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined) {
    throw new KubeconfigUserError("has only a certificate or a key, not both");
  }
  return { clientCertificateData: certificate, clientKeyData: key };
}

function partOf(user: Fields, name: "client-certificate" | "client-key"): string | undefined {
  const data = textOf(user[`${name}-data`]);
  if (data === "") {
    if (textOf(user[name]) === "") return undefined;
    throw new KubeconfigUserError(`names a file as ${name}; it has to be inline`);
  }
  const compact = data.replaceAll(/[\r\n]/g, "");
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact)) {
    throw new KubeconfigUserError(`has a ${name}-data that is not base64`);
  }
  return Buffer.from(compact, "base64").toString("utf8");
}

/** The text of a field; empty when the field is not set. Throws KubeconfigUserError for a field of another type. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new KubeconfigUserError("has a field of the wrong type");
  return value;
}
