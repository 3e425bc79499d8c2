import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

import { parseAllDocuments } from "yaml";

import { FleetError } from "../../api/errors.ts";
import { isRecord, jsonOf } from "../../api/fields.ts";
import { credentialExpired } from "../../api/sentences.ts";
import { JsonShape } from "../json.ts";
import { type ClientCertificate, type Credential, Secret, tokenClaims } from "./credential.ts";
import type { ExecPlan } from "./exec-plan.ts";

// Clocks differ: a credential that expired a moment ago may still be valid for the server.
const clockSkewMs = 60_000;

/**
 * Parses the output of an exec plugin, which is JSON or YAML of the requested API version.
 *
 * Throws `FleetError` `AccessProviderFailed` with code `PluginOutputInvalid`, whose message never quotes the output.
 * Spec: cluster-inventory.md 3.2, security.md T-44.
 */
export function parseExecCredential(
  stdout: string,
  plan: Pick<ExecPlan, "apiVersion" | "command" | "provider">,
  now: Date,
): Credential {
  const refuse = (what: string): FleetError =>
    new FleetError(
      "AccessProviderFailed",
      `Exec plugin ${plan.command} of provider ${plan.provider}: its output ${what}`,
      { code: "PluginOutputInvalid" },
    );
  try {
    return credentialOf(documentOf(stdout), plan.apiVersion, now);
  } catch (error) {
    if (error instanceof OutputError) throw refuse(error.message);
    throw error;
  }
}

/** The output is not usable. The message is the end of a sentence and never quotes the output. */
class OutputError extends Error {}

function credentialOf(output: unknown, apiVersion: string, now: Date): Credential {
  const status = statusOf(output, apiVersion);
  const token = tokenOf(textOf(status["token"]));
  const certificate = certificateOf(status);
  if (token === undefined && certificate === undefined) {
    throw new OutputError("has neither a token nor a certificate with its key");
  }
  const expiresAtMs = earliest([
    expiryOf(status["expirationTimestamp"]),
    notAfter(certificate),
    tokenExpiry(token),
  ]);
  if (expiresAtMs !== undefined && expiresAtMs + clockSkewMs < now.getTime()) {
    throw new OutputError(credentialExpired.of());
  }
  return {
    ...(token === undefined ? {} : { authorization: new Secret(headerText(`Bearer ${token}`)) }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

function statusOf(output: unknown, apiVersion: string): Readonly<Record<string, unknown>> {
  if (!isRecord(output)) throw new OutputError("is not an ExecCredential");
  // Go accepts a missing kind.
  if (output["kind"] !== undefined && output["kind"] !== "ExecCredential") {
    throw new OutputError("is not of kind ExecCredential");
  }
  if (output["apiVersion"] !== apiVersion) {
    const given = String(output["apiVersion"]);
    // Only text that looks like a version is quoted; other output may be a secret.
    const known = /^client\.authentication\.k8s\.io\/v\d{1,2}(?:(?:alpha|beta)\d{1,2})?$/.test(
      given,
    );
    throw new OutputError(`is not of version ${apiVersion}${known ? `, but of ${given}` : ""}`);
  }
  if (!isRecord(output["status"])) throw new OutputError("has no status");
  if (!isRecord(output["spec"] ?? {})) throw new OutputError("has a field of the wrong type");
  return output["status"];
}

// Checked before parsing, because parsed brackets take thirty times the memory of their text.
const outputLimits = { depth: 64, values: 10_000 } as const;

function assertShape(stdout: string): void {
  const excess = new JsonShape(outputLimits).take(Buffer.from(stdout, "utf8"));
  if (excess === "depth") throw new OutputError(`has more than ${outputLimits.depth} levels`);
  if (excess === "values") throw new OutputError(`has more than ${outputLimits.values} values`);
}

function documentOf(stdout: string): unknown {
  if (stdout.trim() === "") throw new OutputError("is empty");
  assertShape(stdout);
  try {
    return JSON.parse(stdout);
  } catch {
    // Not JSON, perhaps YAML. The parser's error is dropped, because it quotes the output.
  }
  // As in Go: output that begins with `{` has to be JSON, although YAML would allow more, such as a trailing comma.
  if (/^[ \t\r\n]*\{/.test(stdout)) throw new OutputError(strayText(stdout) ?? "is not JSON");
  try {
    const [document] = parseAllDocuments(stdout, {
      logLevel: "silent",
      version: "1.1",
      merge: true,
      uniqueKeys: false,
      // Timestamps stay strings.
      customTags: (tags) =>
        tags.filter((tag) => typeof tag === "string" || !tag.tag.endsWith(":timestamp")),
    });
    if (document !== undefined && "errors" in document && document.errors.length === 0) {
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      if (isRecord(value) || strayText(stdout) === undefined) return value;
    }
  } catch {
    // The error below says what is wrong without quoting the output.
  }
  throw new OutputError(strayText(stdout) ?? "is neither JSON nor YAML");
}

/** Tells whether other text, such as a warning, stands before or after a valid credential; undefined otherwise. */
function strayText(stdout: string): string | undefined {
  const from = stdout.indexOf("{");
  const to = stdout.lastIndexOf("}") + 1;
  if (from < 0 || !isCredentialText(stdout.slice(from, to))) return undefined;
  const [before, after] = [stdout.slice(0, from).trim(), stdout.slice(to).trim()];
  if (before === "" && after === "") return undefined;
  return before === ""
    ? "ends with other text, behind the ExecCredential"
    : "begins with other text, in front of the ExecCredential";
}

function isCredentialText(text: string): boolean {
  const value = jsonOf(text);
  return isRecord(value) && value["kind"] === "ExecCredential";
}

/** Decodes the output of a plugin: UTF-16 if it has that byte order mark, else UTF-8. */
export function outputText(bytes: Buffer): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return bytes.toString("utf8");
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new OutputError("has a field of the wrong type");
  return value;
}

function tokenOf(text: string): string | undefined {
  // Secrets that were made from files end in a line break.
  const token = text.trim();
  if (token === "") return undefined;
  // The decoder writes U+FFFD for invalid bytes.
  // oxlint-disable-next-line no-control-regex -- what a header cannot hold
  if (/[\u0000-\u001f\u007f-\u009f\ufffd]/.test(token)) {
    throw new OutputError("has a token with characters that a header cannot hold");
  }
  return token;
}

/** A text as the value of a header: each byte of its UTF-8 as one character. */
function headerText(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function certificateOf(status: Readonly<Record<string, unknown>>): ClientCertificate | undefined {
  const certificatePem = textOf(status["clientCertificateData"]);
  const key = textOf(status["clientKeyData"]);
  if (certificatePem === "" && key === "") return undefined;
  if (certificatePem === "" || key === "") {
    throw new OutputError("has only a certificate or a key, not both");
  }
  try {
    createSecureContext({ cert: certificatePem, key });
  } catch {
    throw new OutputError("has a certificate and a key that do not fit or cannot be read");
  }
  return { certificatePem, keyPem: new Secret(key) };
}

function notAfter(certificate: ClientCertificate | undefined): number | undefined {
  if (certificate === undefined) return undefined;
  return new X509Certificate(certificate.certificatePem).validToDate.getTime();
}

const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

function expiryOf(value: unknown): number | undefined {
  const text = textOf(value);
  if (text === "" || text.startsWith("0001-01-01T00:00:00")) return undefined;
  const time = isDateTime(text) ? Date.parse(text.toUpperCase()) : Number.NaN;
  if (Number.isNaN(time)) throw new OutputError("has an expirationTimestamp that is not RFC 3339");
  return time;
}

// End of the year 9999. A later time means that the token never expires.
const lastSecond = 253_402_300_800;

/** The claim `exp` of a JSON Web Token, in ms. The official plugins do not print an expirationTimestamp. */
function tokenExpiry(token: string | undefined): number | undefined {
  const { exp: seconds } = tokenClaims(token ?? "");
  const isTime = typeof seconds === "number" && seconds > 0 && seconds < lastSecond;
  return isTime ? seconds * 1_000 : undefined;
}

/** True for RFC 3339 with an existing day and hour. Date.parse accepts more, such as February 30. */
function isDateTime(text: string): boolean {
  if (!rfc3339.test(text) || text.slice(11, 13) > "23") return false;
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10));
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
