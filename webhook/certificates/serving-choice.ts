import type { HeldPair } from "./certificate-secret.ts";

/** A serving certificate and the authority that signed it. */
export interface SignedLeaf {
  readonly leaf: HeldPair;
  readonly authorityPem: string;
}

export interface ServingView {
  /** What is served now. */
  readonly served: SignedLeaf | undefined;
  readonly offered: SignedLeaf;
  /** Whether every webhook configuration trusts an authority. */
  readonly isTrusted: (authorityPem: string) => boolean;
  /** Milliseconds for which the offered one's authority has been trusted without a break. */
  readonly trustedForMs: number;
  readonly nowMs: number;
}

/** How long API servers may take to hear of a `caBundle` that was changed. */
export const hearsayMs = 1_500;

/** Whether to change to the offered certificate now; one whose authority nobody trusts yet waits while the old one still works. */
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
