import { FleetError } from "../../api/errors.ts";

/** A prefix of the URLs from which manifests may be fetched. */
export interface AllowedSource {
  readonly origin: string;
  /** Path of a folder, with a slash at the end, or of one file. */
  readonly path: string;
}

const maxBytes = 2_048;

/** Parses the value of `--manifest-source`; undefined when it is invalid. */
export function allowedSourceOf(text: string): AllowedSource | undefined {
  const url = urlOf(text);
  if (typeof url === "string" || url.search !== "" || url.hash !== "") return undefined;
  return { origin: url.origin, path: url.pathname };
}

/**
 * Parses the URL of a manifest. Throws FleetError ManifestSourceNotAllowed unless it is a plain https URL below an allowed source.
 * Spec: security.md T-30, T-31.
 */
export function allowedManifestUrl(text: string, sources: readonly AllowedSource[]): URL {
  const url = urlOf(text);
  if (typeof url === "string") throw notAllowed(text, url);
  if (sources.length === 0) {
    throw notAllowed(text, "the controller was started without --manifest-source");
  }
  if (!sources.some((source) => isBelow(url, source))) {
    throw notAllowed(text, "it is not below a --manifest-source of the controller");
  }
  return url;
}

/** The error for a URL without the digest that it needs. Security: T-34. */
export function notPinned(text: string): FleetError {
  return notAllowed(text, "it does not end in #sha256= and the digest of its content");
}

/** Why the URL of a manifest is invalid whatever sources are allowed, as a sentence; undefined when it is valid. Spec: security.md T-30. */
export function manifestUrlProblem(text: string): string | undefined {
  const url = urlOf(text);
  return typeof url === "string" ? url : undefined;
}

function isBelow({ origin, pathname }: URL, source: AllowedSource): boolean {
  if (origin !== source.origin) return false;
  const below = source.path.endsWith("/") ? source.path : `${source.path}/`;
  return pathname === source.path || pathname.startsWith(below);
}

/** The parsed URL, or why it is invalid. The raw text is checked first, because the parser repairs many errors. */
function urlOf(text: string): URL | string {
  if (Buffer.byteLength(text) > maxBytes) return `it is longer than ${maxBytes} bytes`;
  if (!/^https:\/\/[^/]/i.test(text)) return "it does not begin with https://";
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0020\u007f\\,]/.test(text)) {
    return "it holds white space, a control character, a backslash or a comma";
  }
  // Dot segments, slashes and NUL, also percent-encoded.
  if (
    /(?:\/|%2f|^)(?:\.|%2e){1,2}(?:\/|%2f|[?#]|$)|%00|%2f|%5c/i.test(text.slice("https:/".length))
  ) {
    return "its path has a part that leads elsewhere";
  }
  const url = URL.parse(text);
  if (url === null || url.hostname === "") return "it is not a URL";
  if (url.username !== "" || url.password !== "") return "it holds a user name";
  return url.port === "0" ? "it has port 0" : url;
}

function notAllowed(text: string, problem: string): FleetError {
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
  const plain = shown.replaceAll(/[\u0000-\u001f\u007f]/g, "?").replace(/\/\/[^/]*@/, "//");
  return new FleetError(
    "ManifestSourceNotAllowed",
    `Manifest ${JSON.stringify(plain)} is not allowed: ${problem}`,
  );
}
