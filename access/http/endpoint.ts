import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";

import type { AccessCluster } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { providerForbids } from "../../api/sentences.ts";
import { type EndpointProxy, proxyOf, ProxyUrlError } from "./proxy-url.ts";

/** The checked address of an API server, and how to verify it. Holds no credential except the login of the proxy. */
export interface Endpoint {
  /** Scheme, host, port and path prefix, without a trailing slash. */
  readonly server: string;
  /** Trust anchors in PEM. Absent: those of the system. */
  readonly caPem?: string;
  readonly tlsServerName?: string;
  /** True only for a hub whose kubeconfig sets it, and for a spoke whose provider sets `allowInsecure`. */
  readonly insecureSkipTlsVerify?: boolean;
  readonly proxy?: EndpointProxy;
}

interface EndpointOptions {
  /** Trust the system's certificate authorities when the profile has none, for gateways with public certificates. */
  readonly systemRoots?: boolean;
  /** Accept http, and a profile that turns verification off. */
  readonly allowInsecure?: boolean;
  /** Wall clock in ms, for certificates that have expired. */
  readonly nowMs: number;
}

/**
 * The endpoint that an access entry describes.
 *
 * Throws `FleetError` `RemoteClientCreationFailed` with code `EndpointInvalid`. Spec: cluster-inventory.md 2.5, security.md T-10, T-13, T-14.
 */
export function endpointOf(
  cluster: AccessCluster | null | undefined,
  options: EndpointOptions,
): Endpoint {
  if (cluster === null || cluster === undefined) throw invalid("cluster is missing");
  const server = serverOf(textOf(cluster.server, "server"), options.allowInsecure === true);
  const tlsServerName = tlsServerNameOf(textOf(cluster["tls-server-name"], "tls-server-name"));
  const trust = trustOf(cluster, server, options);
  const proxy = proxyOfEntry(textOf(cluster["proxy-url"], "proxy-url"));
  return Object.freeze({
    server,
    ...trust,
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    ...(proxy === undefined ? {} : { proxy }),
  });
}

// The API server has checked the type. A profile from a file or a test may have another one.
function textOf(value: unknown, field: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw invalid(`${field} is not a string`);
  return value;
}

function serverOf(text: string, allowHttp: boolean): string {
  if (text === "") throw invalid("server is empty");
  const url = urlOf(text, "server");
  if (url.protocol !== "https:" && !(allowHttp && url.protocol === "http:")) {
    throw invalid("server has to begin with https://");
  }
  if (!/^https?:\/\/[^/]/i.test(text)) throw invalid("server has no host");
  // Matches also an empty user name, which the parser drops.
  if (/^https?:\/\/[^/]*@/i.test(text)) throw invalid("server holds a user name");
  if (url.search !== "" || url.hash !== "" || /[?#]/.test(text)) {
    throw invalid("server has a query or a fragment");
  }
  if (url.port === "0") throw invalid("server has port 0");
  return `${url.origin}${plainPath(url.pathname)}`;
}

/** A path prefix as Go's clients join it: without needless escapes, double slashes and a slash at the end. */
function plainPath(path: string): string {
  try {
    const decoded = decodeURIComponent(path).replace(/\/+/g, "/").replace(/\/$/, "");
    return new URL(encodeURI(decoded).replace(/[?#]/g, encodeURIComponent), "https://a").pathname
      .replace(/\/+/g, "/")
      .replace(/\/$/, "");
  } catch {
    throw invalid("server has a path that cannot be decoded");
  }
}

function urlOf(text: string, field: string): URL {
  // The URL parser drops line breaks and tabs and repairs backslashes: the URL would differ from the text.
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0020\u007f\\]/.test(text)) {
    throw invalid(`${field} holds white space, control characters or a backslash`);
  }
  const url = URL.parse(text);
  if (url === null) throw invalid(`${field} is not a URL`);
  if (url.hostname === "") throw invalid(`${field} has no host`);
  return url;
}

function tlsServerNameOf(text: string): string | undefined {
  if (text === "") return undefined;
  const label = "[a-zA-Z0-9_](?:[a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?";
  const name = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);
  if (isIP(text) === 0 && !name.test(text)) throw invalid("tls-server-name is not a host name");
  return text;
}

/** How the server is verified. */
function trustOf(
  cluster: AccessCluster,
  server: string,
  options: EndpointOptions,
): Pick<Endpoint, "caPem" | "insecureSkipTlsVerify"> {
  const insecureSkipTlsVerify = isUnverified(cluster, options);
  const caText = textOf(cluster["certificate-authority-data"], "certificate-authority-data");
  const caPem = caOf(caText, options.nowMs);
  if (insecureSkipTlsVerify) {
    if (caPem === undefined) return { insecureSkipTlsVerify };
    throw invalid("insecure-skip-tls-verify and certificate-authority-data exclude each other");
  }
  if (caPem !== undefined) return { caPem };
  if (server.startsWith("http:") || options.systemRoots === true) return {};
  throw invalid(`certificate-authority-data is missing, and ${providerForbids.roots.of()}`);
}

function isUnverified(cluster: AccessCluster, { allowInsecure }: EndpointOptions): boolean {
  const insecure: unknown = cluster["insecure-skip-tls-verify"];
  if (insecure !== undefined && insecure !== null && typeof insecure !== "boolean") {
    throw invalid("insecure-skip-tls-verify is not a boolean");
  }
  if (insecure === true && allowInsecure !== true) {
    throw invalid("insecure-skip-tls-verify is set; the API server has to be verified");
  }
  return insecure === true;
}

function caOf(base64: string, nowMs: number): string | undefined {
  if (base64 === "") return undefined;
  try {
    return caBundle(base64, nowMs).pem;
  } catch (error) {
    if (!(error instanceof CaBundleError)) throw error;
    throw invalid(`certificate-authority-data ${error.message}`, error.cause);
  }
}

function proxyOfEntry(text: string): EndpointProxy | undefined {
  if (text === "") return undefined;
  try {
    return proxyOf(text);
  } catch (error) {
    if (!(error instanceof ProxyUrlError)) throw error;
    throw invalid(`proxy-url ${error.message}`);
  }
}

/** Sentences about fields of a usable access entry that are probably a mistake, or will soon fail. They quote none of its content. */
export function endpointWarnings(
  { "certificate-authority": path, "certificate-authority-data": data }: AccessCluster,
  nowMs: number,
): readonly string[] {
  return [
    ...((path ?? "") === "" ? [] : ["certificate-authority is a file path, and is ignored"]),
    ...((data ?? "") === ""
      ? []
      : caBundle(data ?? "", nowMs).warnings.map(
          (warning) => `certificate-authority-data ${warning}`,
        )),
  ];
}

function invalid(what: string, cause?: unknown): FleetError {
  return new FleetError("RemoteClientCreationFailed", `The access entry is not usable: ${what}`, {
    code: "EndpointInvalid",
    cause,
  });
}

/** A bundle of certificate authorities is not usable. The message is a sentence of ours without its subject. */
class CaBundleError extends Error {
  override readonly name = "CaBundleError";
}

const maxBytes = 256 * 1024;
const maxCertificates = 50;
const minRsaBits = 2_048;
const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
const soonMs = 30 * 24 * 3_600_000;

/** Trust anchors of a server. */
interface CaBundle {
  readonly pem: string;
  /** Certificates that end soon, or that verify nothing. */
  readonly warnings: readonly string[];
}

/**
 * Reads base64 of PEM with 1 to 50 certificates in at most 256 KiB. Each must be readable, and at least one must be able to verify a server now. As in
 * Go, each certificate is a trust anchor, also one that is no authority. Throws `CaBundleError`. Spec: security.md T-14.
 */
function caBundle(base64: string, nowMs: number): CaBundle {
  const pem = Buffer.from(base64, "base64").toString("utf8");
  const certificates = blocksOf(pem).map(certificateOf);
  const useless = certificates.flatMap((certificate) => uselessness(certificate, nowMs) ?? []);
  const [why] = useless;
  if (why !== undefined && useless.length === certificates.length) {
    throw new CaBundleError(`holds no certificate that can be used; the first one ${why}`);
  }
  const ends = certificates.map(({ validToDate }) => validToDate.getTime());
  const next = Math.min(...ends.filter((end) => end > nowMs));
  const ending = `holds a certificate that ends on ${dayOf(next)}`;
  const warnings = [
    ...new Set(useless.map((reason) => `holds a certificate that is not used: it ${reason}`)),
    ...(next - nowMs < soonMs ? [ending] : []),
  ];
  return { pem, warnings };
}

/**
 * A PEM text reduced to its certificates: other text between them makes OpenSSL skip certificates without an error. A text without certificates stays as
 * it is.
 */
export function bareCertificates(pem: string): string {
  const blocks = pem.match(block) ?? [];
  return blocks.length === 0 ? pem : `${blocks.join("\n")}\n`;
}

function blocksOf(pem: string): readonly string[] {
  if (pem.length > maxBytes) throw new CaBundleError("is larger than 256 KiB");
  const blocks = pem.match(block) ?? [];
  if (blocks.length === 0) throw new CaBundleError("holds no PEM certificate");
  if (blocks.length > maxCertificates) {
    throw new CaBundleError(`holds more than ${maxCertificates} certificates`);
  }
  return blocks;
}

function certificateOf(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (cause) {
    throw new CaBundleError("holds a certificate that cannot be read", { cause });
  }
}

/** Why a certificate can verify nothing: OpenSSL refuses it anywhere in a chain. */
function uselessness(certificate: X509Certificate, nowMs: number): string | undefined {
  const { validToDate } = certificate;
  if (validToDate.getTime() <= nowMs) return `has expired on ${dayOf(validToDate.getTime())}`;
  const bits = rsaBits(certificate);
  return bits < minRsaBits
    ? `has an RSA key of ${bits} bits, and ${minRsaBits} are needed`
    : undefined;
}

function rsaBits({ publicKey }: X509Certificate): number {
  if (publicKey.asymmetricKeyType !== "rsa") return Number.POSITIVE_INFINITY;
  return publicKey.asymmetricKeyDetails?.modulusLength ?? Number.POSITIVE_INFINITY;
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
