import type { Log } from "../../access/log.ts";
import type { Clock } from "../../access/time/clock.ts";
import { timestampOf } from "../../api/conditions.ts";
import type { ServingCertificate } from "../server.ts";
import type { HeldPair, StoredCertificates, TrustedAuthority } from "./certificate-secret.ts";

/** A serving certificate and the authority that signed it. */
export interface SignedLeaf {
  readonly leaf: HeldPair;
  readonly authorityPem: string;
}

export interface ServingView {
  /** The certificate that is served now. */
  readonly served: SignedLeaf | undefined;
  readonly offered: SignedLeaf;
  /** Whether every webhook configuration trusts an authority. */
  readonly isTrusted: (authorityPem: string) => boolean;
  /** Milliseconds for which the authority of the offered certificate has been trusted without a break. */
  readonly trustedForMs: number;
  readonly nowMs: number;
}

// API servers may take so long to see a changed `caBundle`.
const hearsayMs = 1_500;
// A webhook that may not read the configurations serves all the same.
const trustPatienceMs = 5_000;
const incompleteMs = 1_000;

/** Whether to serve the offered certificate now. While nobody trusts its authority yet, it waits as long as the served one still works. */
export function isBetter({
  served,
  offered,
  isTrusted,
  trustedForMs,
  nowMs,
}: ServingView): boolean {
  if (served === undefined) return true;
  if (served.leaf.certificatePem === offered.leaf.certificatePem) return false;
  if (served.authorityPem === offered.authorityPem || nowMs >= served.leaf.notAfterMs) return true;
  return trustedForMs >= hearsayMs || !isTrusted(served.authorityPem);
}

interface ServedCertificateDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Takes each certificate that is served from now on; `endsMs` is Unix time. */
  readonly use: (certificate: ServingCertificate, endsMs: number) => void;
  readonly isTrusted: (authorityPem: string) => boolean;
  /** Unix time of the API server, in milliseconds. */
  readonly now: () => number;
}

/** The certificate that is served, and since when API servers trust its authority. */
export class ServedCertificate {
  readonly #deps: ServedCertificateDeps;
  #served: SignedLeaf | undefined;
  #servedSinceMs = 0;
  #isEstablished = false;
  #authorities: readonly TrustedAuthority[] = [];
  /** Since when each authority has been trusted, by its PEM text. The next authority counts too, so that its certificates need not wait. */
  #trusted: ReadonlyMap<string, number> = new Map();

  constructor(deps: ServedCertificateDeps) {
    this.#deps = deps;
  }

  /** The authorities of the last complete offer. */
  get authorities(): readonly TrustedAuthority[] {
    return this.#authorities;
  }

  /** A replica that answers before its authority is trusted would fail each call: after a start from nothing no API server trusts it yet. */
  waitingFor = (): readonly string[] => {
    if (this.#served === undefined) return ["the serving certificate"];
    this.#isEstablished ||=
      this.#deps.isTrusted(this.#served.authorityPem) ||
      this.#deps.clock.now() - this.#servedSinceMs >= trustPatienceMs;
    return this.#isEstablished ? [] : ["the caBundle of the webhook configurations"];
  };

  /** Serves the stored certificate when it is better. Returns the milliseconds until a certificate that waits may be served. */
  offer({ authority, next, leaf, previous }: StoredCertificates): number {
    if (authority === undefined || leaf === undefined) return incompleteMs;
    this.#authorities = [authority, ...(next === undefined ? [] : [next]), ...previous].map(
      ({ certificatePem, notAfterMs }) => ({ certificatePem, notAfterMs }),
    );
    this.#noteTrust();
    const { isTrusted, log, now, use } = this.#deps;
    const offered = { leaf, authorityPem: authority.certificatePem };
    const sinceMs = this.#trusted.get(offered.authorityPem);
    const trustedForMs = sinceMs === undefined ? 0 : this.#deps.clock.now() - sinceMs;
    const view = { offered, served: this.#served, isTrusted, trustedForMs, nowMs: now() };
    if (!isBetter(view)) return Math.max(100, hearsayMs - trustedForMs);
    if (this.#served === undefined) this.#servedSinceMs = this.#deps.clock.now();
    this.#served = offered;
    use({ cert: leaf.certificatePem, key: leaf.keyPem }, leaf.notAfterMs);
    log.info({ ends: timestampOf(new Date(leaf.notAfterMs)) }, "Serving a new certificate");
    return Number.POSITIVE_INFINITY;
  }

  #noteTrust(): void {
    const nowMs = this.#deps.clock.now();
    this.#trusted = new Map(
      this.#authorities
        .filter(({ certificatePem }) => this.#deps.isTrusted(certificatePem))
        .map(({ certificatePem }) => [certificatePem, this.#trusted.get(certificatePem) ?? nowMs]),
    );
  }
}
