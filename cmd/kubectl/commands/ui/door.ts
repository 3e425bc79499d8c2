import { randomBytes, timingSafeEqual } from "node:crypto";

/** What the door looks at in a request. */
export interface RequestFacts {
  readonly method: string | undefined;
  /** The target of the request as it came: path and query. */
  readonly url: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
}

/** The door's answer to a request. */
export type Verdict =
  | { readonly kind: "refused"; readonly status: 401 | 403 | 405; readonly text: string }
  | {
      readonly kind: "admitted";
      /** The request has the secret. */
      readonly isOwner: boolean;
      readonly path: string;
      readonly query: URLSearchParams;
    };

/**
 * Decides who may read what. Loopback is open to every program and every website of this computer: a website that resolves to 127.0.0.1 has another Host, a form or script of a
 * website another Origin, and another user has no secret. The secret is in a header: a browser sends cookies to all ports of a host, so also to servers of other users.
 */
export class Door {
  readonly #secret = randomBytes(32).toString("base64url");
  readonly #hosts: readonly string[];
  readonly #open: ReadonlySet<string>;

  /** `open`: the paths without data, which need no secret. */
  constructor(port: number, open: ReadonlySet<string>) {
    this.#hosts = ["127.0.0.1", "[::1]", "localhost"].map((name) => `${name}:${port}`);
    this.#open = open;
  }

  /** What opens the page. Browsers do not send what is behind `#`: the script of the page reads it. */
  get entrance(): string {
    return `/#token=${this.#secret}`;
  }

  check({ method, url = "", host = "", origin, authorization = "" }: RequestFacts): Verdict {
    if (method !== "GET") return refused(405, "Only GET is served");
    if (!this.#hosts.includes(host.toLowerCase())) {
      return refused(403, "This name of the host is not served");
    }
    if (origin !== undefined && !this.#hosts.some((name) => origin === `http://${name}`)) {
      return refused(403, "Other sites are not served");
    }
    const [path = "", ...rest] = url.split("?");
    const isOwner = isSame(authorization, `Bearer ${this.#secret}`);
    if (!isOwner && !this.#open.has(path)) {
      const what = "the token of the address that kubectl knfleet ui printed";
      return refused(401, `Documents need the header Authorization: Bearer with ${what}`);
    }
    return { kind: "admitted", isOwner, path, query: new URLSearchParams(rest.join("?")) };
  }
}

function refused(status: 401 | 403 | 405, text: string): Verdict {
  return { kind: "refused", status, text };
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}
