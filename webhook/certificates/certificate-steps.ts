import type { CertificateStep, CertificateTerms } from "./certificate-plan.ts";
import { earlyMs, stillNeeded } from "./certificate-plan.ts";
import {
  type HeldPair,
  pairOf,
  type StoredCertificates,
  type TrustedAuthority,
} from "./certificate-secret.ts";
import { issueAuthority, issueServing, type KeyPair } from "./issue-certificate.ts";

export interface StepSettings extends CertificateTerms {
  /** Names of the Service, the one that API servers ask for first. */
  readonly dnsNames: readonly string[];
}

export interface StepView {
  readonly stored: StoredCertificates;
  /** Authorities that this process has seen trusted; `begin` keeps them trusted. */
  readonly remembered: readonly TrustedAuthority[];
  readonly nowMs: number;
}

/** The certificates after a step. */
export async function certificatesAfter(
  step: CertificateStep,
  { stored, remembered, nowMs }: StepView,
  settings: StepSettings,
): Promise<StoredCertificates> {
  if (step === "begin") {
    const authority = await newAuthority(nowMs, settings);
    const leaf = await newLeaf(authority, nowMs, settings);
    const previous = remembered.filter(({ notAfterMs }) => nowMs < notAfterMs);
    return { authority, next: undefined, leaf, previous };
  }
  const kept = { ...stored, previous: stillNeeded(stored, nowMs, settings) };
  const { authority, next } = kept;
  if (step === "announce") return { ...kept, next: await newAuthority(nowMs, settings) };
  if (step === "renew" && authority !== undefined) {
    return { ...kept, leaf: await newLeaf(authority, nowMs, settings) };
  }
  if (step === "promote" && authority !== undefined && next !== undefined) {
    const { certificatePem, notAfterMs } = authority;
    return {
      authority: next,
      next: undefined,
      leaf: await newLeaf(next, nowMs, settings),
      previous: [{ certificatePem, notAfterMs }, ...kept.previous],
    };
  }
  return kept;
}

async function newAuthority(
  nowMs: number,
  { authorityMs, dnsNames }: StepSettings,
): Promise<HeldPair> {
  const name = `${dnsNames[0] ?? "knfleet-webhook"} ${nowMs}`;
  // X.520 allows a common name 64 characters, and OpenSSL holds it to that.
  const validity = { notBeforeMs: nowMs - earlyMs, notAfterMs: nowMs + authorityMs };
  return held(await issueAuthority(name.slice(-64), validity));
}

async function newLeaf(
  authority: HeldPair,
  nowMs: number,
  { leafMs, dnsNames }: StepSettings,
): Promise<HeldPair> {
  const notAfterMs = Math.min(nowMs + leafMs, authority.notAfterMs);
  const validity = { notBeforeMs: nowMs - earlyMs, notAfterMs };
  return held(await issueServing(dnsNames, authority, validity));
}

function held({ certificatePem, keyPem }: KeyPair): HeldPair {
  const pair = pairOf(certificatePem, keyPem);
  if (pair === undefined) throw new Error("A certificate was made that does not fit its key");
  return pair;
}
