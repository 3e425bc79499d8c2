import { Secret } from "../plugins/credential.ts";

/** A forward proxy, which opens a tunnel to the API server. */
export interface EndpointProxy {
  readonly protocol: "http:" | "https:" | "socks5:";
  readonly host: string;
  readonly port: number;
  /** The variable of the environment that names it. Absent: the kubeconfig or the ClusterProfile does. */
  readonly from?: string;
  /** Our login at the proxy. */
  readonly login?: { readonly user: Secret; readonly password: Secret };
}

/** A `proxy-url` is not usable. The message is a sentence of ours without its subject. */
export class ProxyUrlError extends Error {
  override readonly name = "ProxyUrlError";
}

/** A proxy for messages, without its login. */
export function describeProxy({ host, port, from }: EndpointProxy): string {
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return from === undefined ? address : `${address} (${from})`;
}

const defaultPorts = { "http:": 80, "https:": 443, "socks5:": 1080 } as const;

// Limit of RFC 1929.
const maxLoginBytes = 255;

/**
 * The proxy of a `proxy-url`: http, https or socks5. `socks5h` means the same, because the proxy always resolves names, as in Go.
 * Throws `ProxyUrlError`, which quotes nothing of the text.
 */
export function proxyOf(text: string): EndpointProxy {
  // The URL parser drops line breaks and tabs and repairs backslashes: the URL would differ from the text.
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0020\u007f\\]/.test(text)) {
    throw new ProxyUrlError("holds white space, control characters or a backslash");
  }
  const [, scheme = "", rest = ""] = /^([a-z][a-z\d]*):\/\/([^/].*)$/i.exec(text) ?? [];
  const protocol = protocolOf(scheme);
  const url = URL.parse(`http://${rest}`);
  if (url === null) throw new ProxyUrlError("is not a URL with a host");
  const login = loginOf(url, protocol);
  return Object.freeze({
    protocol,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: portOf(rest) ?? defaultPorts[protocol],
    ...(login === undefined ? {} : { login }),
  });
}

/** The parser drops the default port of a scheme, so that the text is parsed with two schemes. */
function portOf(rest: string): number | undefined {
  const ports = ["http", "https"].map((scheme) => URL.parse(`${scheme}://${rest}`)?.port ?? "");
  const port = ports.find((text) => text !== "");
  if (port === "0") throw new ProxyUrlError("has port 0");
  return port === undefined ? undefined : Number(port);
}

function protocolOf(scheme: string): EndpointProxy["protocol"] {
  switch (scheme.toLowerCase()) {
    case "http":
      return "http:";
    case "https":
      return "https:";
    case "socks5":
    case "socks5h":
      return "socks5:";
    default:
      throw new ProxyUrlError("has to begin with http://, https:// or socks5://");
  }
}

function loginOf(
  { username, password }: URL,
  protocol: EndpointProxy["protocol"],
): EndpointProxy["login"] {
  if (username === "" && password === "") return undefined;
  const [user = "", word = ""] = [username, password].map(decoded);
  const isTooLong = [user, word].some((part) => Buffer.byteLength(part) > maxLoginBytes);
  if (protocol === "socks5:" && (user === "" || isTooLong)) {
    throw new ProxyUrlError(`has a user or password that is empty or longer than ${maxLoginBytes}`);
  }
  return Object.freeze({ user: new Secret(user), password: new Secret(word) });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ProxyUrlError("has a user or password that cannot be decoded");
  }
}
