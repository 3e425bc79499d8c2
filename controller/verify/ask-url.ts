import type { ApiError } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { CheckSource, UrlQuestion } from "../../access/urls/check-source.ts";
import { recordAt, textAt } from "../../api/fields.ts";
import type { CheckSpec } from "../../api/fleet-set.ts";
import { knownResource } from "../../api/resources.ts";
import { refusalText, Unasked } from "./unasked.ts";

/** How a set names a server: its URL, and what it is trusted by and told. */
export type NamedServer = Pick<
  NonNullable<CheckSpec["webhook"]>,
  "url" | "caBundle" | "secretName"
>;

/** What asks the servers behind URLs. */
export interface UrlAsker {
  readonly source: Pick<CheckSource, "ask">;
  /** Has the Secrets of the set's namespace. */
  readonly hub: Pick<KubeClient, "get">;
}

/** Returns the JSON that a server behind a URL answers; foreign. Rejects with `Unasked`, with ConnectionError, and with the reason of the signal. */
export async function askUrl(
  { url, caBundle, secretName }: NamedServer,
  question: Pick<UrlQuestion, "path" | "body">,
  namespace: string,
  { source, hub }: UrlAsker,
  signal: AbortSignal,
): Promise<unknown> {
  const authorization =
    secretName === undefined
      ? undefined
      : await authorizationOf({ namespace, name: secretName }, hub, signal);
  const caPem = caBundle === undefined ? undefined : Buffer.from(caBundle, "base64").toString();
  const trust = {
    ...(caPem !== undefined && { caPem }),
    ...(authorization !== undefined && { authorization }),
  };
  const { status, text } = await source.ask(
    { owner: namespace, url, ...question, ...trust },
    signal,
  );
  // Prometheus says with 400 and 422 what is wrong with a query.
  const isAnswer = status === 200 || (question.body === undefined && [400, 422].includes(status));
  if (!isAnswer) {
    throw new Unasked(`${URL.parse(url)?.origin} answered ${status}`);
  }
  try {
    return JSON.parse(withoutSecret(text, authorization));
  } catch {
    throw new Unasked(`${URL.parse(url)?.origin} answered ${status} without JSON`);
  }
}

/** A server may say again what it was told, and its words are shown to whoever may read the set. */
function withoutSecret(text: string, authorization: string | undefined): string {
  const [, secret = ""] = authorization?.split(" ") ?? [];
  return secret === "" ? text : text.replaceAll(secret, "[redacted]");
}

/** The header of a Secret with `token`, or with `username` and `password`. */
async function authorizationOf(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  hub: UrlAsker["hub"],
  signal: AbortSignal,
): Promise<string> {
  const ref = { resource: knownResource("v1", "Secret"), namespace, name };
  const unread = ({ status }: ApiError): string =>
    `Secret ${name} was not read: the hub answered ${status}`;
  const secret = await hub.get(ref, {}, signal).catch((error: unknown) => {
    throw new Unasked(refusalText(error, unread));
  });
  if (secret === undefined) throw new Unasked(`There is no Secret ${name}`);
  const decoded = (key: string): string | undefined => {
    const value = textAt(recordAt(secret, "data"), key);
    return value === undefined ? undefined : Buffer.from(value, "base64").toString();
  };
  const token = decoded("token")?.trim();
  const [username, password] = [decoded("username"), decoded("password")];
  if (token !== undefined && /^[\x21-\x7e]+$/.test(token)) return `Bearer ${token}`;
  if (token === undefined && username !== undefined && password !== undefined) {
    return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  }
  throw new Unasked(`Secret ${name} has neither a token nor username and password`);
}
