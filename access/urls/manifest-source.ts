import { createHash } from "node:crypto";

import type { Agent } from "undici";

import { FleetError } from "../../api/errors.ts";
import { codeOf, connectionErrorOf } from "../kube/api-error.ts";
import type { Clock } from "../time/clock.ts";
import { withTimeout } from "../time/deadline.ts";
import type { AllowedSource } from "./allowed-source.ts";
import { forbiddenCode, guardedAgent, type GuardedAgentOptions } from "./guarded-agent.ts";
import { allowedManifestUrl, notPinned } from "./manifest-url.ts";

export interface ManifestSourceOptions extends Pick<GuardedAgentOptions, "caPem" | "resolve"> {
  /** Allowed sources; empty: every URL is refused. */
  readonly sources: readonly AllowedSource[];
  readonly userAgent: string;
  /** Requires each URL to end in the digest of its content; set on a hub that several teams share. Security: T-34. */
  readonly isPinned?: boolean;
  /** Time limit of a whole fetch; default 20,000. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
}

const maxBytes = 8 * 1024 * 1024;
const freshMs = 10 * 60 * 1_000;
// Without this pause, every attempt of a component would ask an unavailable server again.
const retryMs = 60_000;
const digestPattern = /^#sha256=([0-9a-f]{64})$/;

/**
 * Fetches the manifests that components name, from allowed sources only: over verified TLS, without redirects, at most 8 MiB in 20 s each.
 * A host name must not resolve to an address of this machine or its link, unless the allowed source itself is such an address.
 *
 * A URL may end in `#sha256=<digest>`, which pins its content. Pinned content is cached without end. Other content is fetched again in the background
 * after ten minutes, and a minute after a failed fetch. Spec: security.md T-11, T-12, T-30 to T-34.
 */
export class ManifestSource implements AsyncDisposable {
  readonly #options: ManifestSourceOptions;
  readonly #agent: Agent;
  readonly #cache = new TextCache(64 * 1024 * 1024);
  readonly #running = new Map<string, Promise<string>>();
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  /** The listeners are about to be called. */
  #isNotifying = false;

  constructor(options: ManifestSourceOptions) {
    this.#options = options;
    this.#agent = guardedAgent({ ...options, maxBytes });
  }

  /**
   * Returns the text at a URL. Cached text is returned at once, even if it is old, so that no install waits for an unavailable server. Callers at the same
   * time share a fetch. Throws FleetError ManifestSourceNotAllowed, ManifestSourceUnavailable, or ManifestInvalid when the digest differs or the bytes are
   * not UTF-8.
   */
  async read(text: string): Promise<string> {
    const url = allowedManifestUrl(text, this.#options.sources);
    if (this.#options.isPinned === true && url.hash === "") throw notPinned(text);
    const cached = this.#cache.get(url.href);
    if (cached === undefined) return this.#fetchOnce(url);
    if (this.#options.clock.now() >= cached.freshUntil) this.#renew(url, cached);
    return cached.text;
  }

  /** Calls back when a text that `read` returned is outdated: the URL has another text now, or one for which `read` throws. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    this.#stop.abort(new DOMException("The source of manifests was closed", "AbortError"));
    await Promise.allSettled(this.#running.values());
    await this.#agent.destroy();
  }

  #renew(url: URL, cached: CachedText): void {
    if (this.#running.has(url.href)) return;
    // In the background. It never rejects.
    void this.#fetchOnce(url)
      .then(
        (text) => text !== cached.text,
        (error: unknown) => this.#dropUnlessUnavailable(error, url, cached),
      )
      .then((hasChanged) => (hasChanged ? this.#notify() : undefined));
  }

  /** Keeps the cached text when the server is unavailable. Otherwise the new content is unusable, and the cached text is dropped. Returns whether it was dropped. */
  #dropUnlessUnavailable(error: unknown, { href }: URL, { text }: CachedText): boolean {
    const isUnavailable =
      error instanceof FleetError && error.reason === "ManifestSourceUnavailable";
    if (isUnavailable)
      this.#cache.set(href, { text, freshUntil: this.#options.clock.now() + retryMs });
    else this.#cache.delete(href);
    return !isUnavailable;
  }

  // Waits for all running fetches and then notifies once, because the texts may depend on each other.
  async #notify(): Promise<void> {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    await Promise.allSettled(this.#running.values());
    this.#isNotifying = false;
    for (const listener of this.#listeners) listener();
  }

  /** Fetches a text, or joins the fetch of the same URL that runs already. */
  #fetchOnce(url: URL): Promise<string> {
    const running = this.#running.get(url.href);
    if (running !== undefined) return running;
    const fetching = this.#fetch(url).finally(() => this.#running.delete(url.href));
    this.#running.set(url.href, fetching);
    return fetching;
  }

  async #fetch(url: URL): Promise<string> {
    const digest = digestOf(url);
    const bytes = await this.#bytes(url);
    const actual = createHash("sha256").update(bytes).digest("hex");
    if (digest !== undefined && digest !== actual) {
      throw new FleetError("ManifestInvalid", `${nameOf(url)} has the SHA-256 digest ${actual}`);
    }
    const text = decoded(bytes, url);
    const freshUntil = digest === undefined ? this.#options.clock.now() + freshMs : Infinity;
    this.#cache.set(url.href, { text, freshUntil });
    return text;
  }

  async #bytes(url: URL): Promise<Uint8Array> {
    const { clock, userAgent, timeoutMs = 20_000 } = this.#options;
    const signal = withTimeout(clock, timeoutMs, this.#stop.signal);
    try {
      const answer = await this.#agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: "GET",
        signal,
        headers: {
          "user-agent": userAgent,
          accept: "application/yaml, text/yaml, text/plain, */*",
          // Without compression, so that the size limit holds for the content.
          "accept-encoding": "identity",
        },
      });
      const encoding = answer.headers["content-encoding"] ?? "identity";
      const problem = problemOf(answer.statusCode, encoding);
      if (problem === undefined) return await answer.body.bytes();
      answer.body.on("error", () => undefined).destroy();
      throw unavailable(url, problem);
    } catch (error) {
      if (error instanceof FleetError) throw error;
      if (signal.aborted) throw unavailable(url, `took more than ${timeoutMs / 1_000} s`, error);
      throw unavailable(url, failureOf(error, url), error);
    }
  }
}

function digestOf(url: URL): string | undefined {
  if (url.hash === "") return undefined;
  const [, digest] = digestPattern.exec(url.hash) ?? [];
  if (digest !== undefined) return digest;
  throw new FleetError("ManifestInvalid", `${nameOf(url)} does not end in #sha256=<64 hex digits>`);
}

function problemOf(status: number, encoding: string | string[]): string | undefined {
  if (status >= 300 && status < 400) {
    return `answered ${status}; redirects are not followed`;
  }
  if (status !== 200) return `answered ${status}`;
  return encoding === "identity" ? undefined : "answered with an encoding that was not asked for";
}

function failureOf(error: unknown, { origin }: URL): string {
  const code = codeOf(error);
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") return "is larger than 8 MiB";
  if (code === forbiddenCode) return "has a host whose name leads to a forbidden address";
  return `cannot be fetched: ${connectionErrorOf(error, origin).message}`;
}

function decoded(bytes: Uint8Array, url: URL): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new FleetError("ManifestInvalid", `${nameOf(url)} is not UTF-8`, { cause });
  }
}

function unavailable(url: URL, problem: string, cause?: unknown): FleetError {
  return new FleetError("ManifestSourceUnavailable", `${nameOf(url)} ${problem}`, { cause });
}

/** The URL for messages, without its query, which may hold a signature. */
function nameOf(url: URL): string {
  return `Manifest ${url.origin}${url.pathname}`;
}

/** A cached text. It is fetched again after `freshUntil`. */
interface CachedText {
  readonly text: string;
  readonly freshUntil: number;
}

/** A cache of texts with a limit on the sum of their characters. Drops the least recently used text first. */
export class TextCache {
  readonly #limit: number;
  readonly #entries = new Map<string, CachedText>();
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): CachedText | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  set(key: string, entry: CachedText): void {
    this.delete(key);
    this.#entries.set(key, entry);
    this.#size += entry.text.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#limit) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#size -= entry.text.length;
  }
}
