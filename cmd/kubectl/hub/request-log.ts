import type { RequestObserver, RequestRecord } from "../../../access/http/request.ts";
import { isRecord } from "../../../api/fields.ts";
import { plainText, redactSecrets } from "../../../api/foreign-text.ts";
import { messageOf } from "../errors.ts";
import type { Output } from "../output/terminal.ts";

const withBodies = 9;
const shownCharacters = 8_192;

/** Returns an observer that writes a line for each request, from level 9 on also the bodies without secrets. */
export function requestLog(output: Output, level: number): RequestObserver {
  return (record) => {
    const bodies = level < withBodies ? [] : bodyLines(record);
    const lines = [requestLine(record), ...bodies];
    output.write(lines.map((line) => `${line}\n`).join(""));
  };
}

function requestLine({ method, url, status, error, elapsedMs }: RequestRecord): string {
  const end = status === undefined ? `failed: ${messageOf(error)}` : String(status);
  return plainText(redactSecrets(`${method} ${url} ${end} in ${Math.round(elapsedMs)} ms`));
}

function bodyLines({ requestBody, answerBody }: RequestRecord): readonly string[] {
  return [
    ...(requestBody === undefined ? [] : [`  request: ${redactedBody(requestBody)}`]),
    ...(answerBody === undefined ? [] : [`  answer: ${redactedBody(answerBody)}`]),
  ];
}

/** A body as one line without the values of Secrets, tokens, keys, certificates and passwords. Cuts a long body. */
export function redactedBody(body: string): string {
  const text = plainText(redactSecrets(jsonText(body)));
  return text.length <= shownCharacters
    ? text
    : `${text.slice(0, shownCharacters)}… (${text.length} characters)`;
}

function jsonText(body: string): string {
  try {
    const value: unknown = JSON.parse(body);
    return JSON.stringify(withoutSecrets(value, isSecretList(value)));
  } catch {
    // Only the length of other text: it may hold secrets.
    return `(${body.length} characters that are no JSON)`;
  }
}

const hidden = "[redacted]";
const secretFields = ["data", "stringData"];
const secretName =
  /(?:token|password|passwd|secret|key-data|private-?key|authorization|credentials?)$/i;
// This annotation is a copy of the object, which may be a Secret.
const copies = "kubectl.kubernetes.io/last-applied-configuration";

function isSecretList(value: unknown): boolean {
  return isRecord(value) && value["kind"] === "SecretList";
}

/** `inSecrets`: the items of a SecretList have no kind of their own. */
function withoutSecrets(value: unknown, inSecrets: boolean): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => withoutSecrets(item, inSecrets));
  if (!isRecord(value)) return value;
  const isSecret = value["kind"] === "Secret" || (inSecrets && "metadata" in value);
  // For example a variable of a container.
  const isSecretPair = typeof value["name"] === "string" && secretName.test(value["name"]);
  const entries = Object.entries(value).map(([name, field]) => {
    if (isSecretPair && name === "value") return [name, hidden];
    if (isSecret && secretFields.includes(name)) return [name, valuesHidden(field)];
    const isHidden = name === copies || (typeof field === "string" && secretName.test(name));
    return [name, isHidden ? hidden : withoutSecrets(field, inSecrets)];
  });
  return Object.fromEntries(entries);
}

function valuesHidden(field: unknown): unknown {
  if (!isRecord(field)) return hidden;
  return Object.fromEntries(Object.keys(field).map((name) => [name, hidden]));
}
