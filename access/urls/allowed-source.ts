/** A prefix of the URLs that the hub may ask. */
export interface AllowedSource {
  readonly origin: string;
  /** Path of a folder, with a slash at the end, or of one file. */
  readonly path: string;
}

const maxBytes = 2_048;

/** Parses the value of a flag such as `--manifest-source`; undefined when it is invalid. */
export function allowedSourceOf(text: string): AllowedSource | undefined {
  const url = plainUrlOf(text);
  if (typeof url === "string" || url.search !== "" || url.hash !== "") return undefined;
  return { origin: url.origin, path: url.pathname };
}

/** The parsed URL when it is a plain https URL below an allowed source; else why not, as the end of a sentence. `flag` is the one that names the sources. Spec: security.md T-30, T-31. */
export function allowedUrlOf(
  text: string,
  sources: readonly AllowedSource[],
  flag: string,
): URL | string {
  const url = plainUrlOf(text);
  if (typeof url === "string") return url;
  if (sources.length === 0) return `the controller was started without ${flag}`;
  if (!sources.some((source) => isBelow(url, source))) {
    return `it is not below a ${flag} of the controller`;
  }
  return url;
}

/** Whether a URL is one that `allowedUrlOf` returns. */
export function isAllowedUrl(text: string, sources: readonly AllowedSource[]): boolean {
  const url = plainUrlOf(text);
  return typeof url !== "string" && sources.some((source) => isBelow(url, source));
}

function isBelow({ origin, pathname }: URL, source: AllowedSource): boolean {
  if (origin !== source.origin) return false;
  const below = source.path.endsWith("/") ? source.path : `${source.path}/`;
  return pathname === source.path || pathname.startsWith(below);
}

/** The parsed URL, or why it is invalid whatever sources are allowed. The raw text is checked first, because the parser repairs many errors. */
export function plainUrlOf(text: string): URL | string {
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
