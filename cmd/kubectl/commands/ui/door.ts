import { randomBytes, timingSafeEqual } from "node:crypto";

/** What the door looks at in a request. */
export interface RequestFacts {
  readonly method: string | undefined;
  /** The target of the request as it came: path and query. */
  readonly url: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly cookie: string | undefined;
}

/** The door's answer to a request. */
export type Verdict =
  | { readonly kind: "refused"; readonly status: 401 | 403 | 405; readonly text: string }
  /** The one-time token was right: the browser gets the cookie. */
  | { readonly kind: "welcomed"; readonly cookie: string }
  | { readonly kind: "admitted"; readonly path: string; readonly query: URLSearchParams };

/**
 * Decides who may read the page. Loopback is open to every program and every website of this computer: a website that resolves to 127.0.0.1 has another Host,
 * a form or script of a website another Origin, and another user has neither token nor cookie.
 */
export class Door {
  readonly #token = randomBytes(32).toString("base64url");
  readonly #session = randomBytes(32).toString("base64url");
  readonly #hosts: readonly string[];
  readonly #cookieName: string;
  #isTokenUsed = false;

  constructor(port: number) {
    this.#hosts = ["127.0.0.1", "[::1]", "localhost"].map((name) => `${name}:${port}`);
    // Cookies do not know ports: two pages at once need two names.
    this.#cookieName = `knfleet-ui-${port}`;
  }

  /** Path and query that open the page, once. */
  get entrance(): string {
    return `/?token=${this.#token}`;
  }

  /** Judges a request. The first right token is used up by it. */
  check({ method, url = "", host = "", origin, cookie }: RequestFacts): Verdict {
    if (method !== "GET") return refused(405, "Only GET is served");
    if (!this.#hosts.includes(host.toLowerCase())) {
      return refused(403, "This name of the host is not served");
    }
    if (origin !== undefined && !this.#hosts.some((name) => origin === `http://${name}`)) {
      return refused(403, "Other sites are not served");
    }
    const [path = "", ...rest] = url.split("?");
    const query = new URLSearchParams(rest.join("?"));
    if (this.#hasCookie(cookie)) return { kind: "admitted", path, query };
    if (path === "/" && this.#takesToken(query.get("token"))) {
      const attributes = "Path=/; SameSite=Strict; HttpOnly";
      return { kind: "welcomed", cookie: `${this.#cookieName}=${this.#session}; ${attributes}` };
    }
    return refused(401, "Open the address that kubectl knfleet ui printed. It opens once");
  }

  #takesToken(given: string | null): boolean {
    if (given === null || this.#isTokenUsed || !isSame(given, this.#token)) return false;
    this.#isTokenUsed = true;
    return true;
  }

  #hasCookie(cookie = ""): boolean {
    const start = `${this.#cookieName}=`;
    return cookie
      .split(";")
      .map((part) => part.trim())
      .some((part) => part.startsWith(start) && isSame(part.slice(start.length), this.#session));
  }
}

function refused(status: 401 | 403 | 405, text: string): Verdict {
  return { kind: "refused", status, text };
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}
