import {
  type HeldPair,
  type StoredCertificates,
  pairOf,
  type TrustedAuthority,
} from "./certificate-secret.ts";
import { issueAuthority, issueServing, type KeyPair } from "./issue-certificate.ts";

/** How long certificates are valid and when they change, in milliseconds. */
export interface CertificateTerms {
  readonly leafMs: number;
  readonly authorityMs: number;
  /** How long an authority is trusted before its first signature and after its last one. */
  readonly overlapMs: number;
}

/**
 * What to do with the certificates. `begin`: make all of them. `announce`: make a next authority that is trusted but signs nothing yet.
 * `promote`: let the next authority sign. `renew`: make a serving certificate. `mend`: write the known certificates again.
 */
export type CertificateStep = "begin" | "announce" | "promote" | "renew" | "mend";

export interface CertificateView {
  readonly stored: StoredCertificates;
  /** The Secret holds exactly what is in `stored`. */
  readonly isAsWritten: boolean;
  /** Every webhook configuration trusts the next authority. */
  readonly isNextTrusted: boolean;
  readonly nowMs: number;
}

/** Certificates are valid from an hour before they are made, for clocks that are behind. */
export const earlyMs = 3_600_000;

const longestWaitMs = 5_000;
const shortestWaitMs = 100;

/** The most urgent step; undefined when nothing has to be done. */
export function stepOf(
  view: CertificateView,
  terms: CertificateTerms,
): CertificateStep | undefined {
  const { stored, isAsWritten, nowMs } = view;
  const { authority, next, leaf, previous } = stored;
  if (authority === undefined) return "begin";
  // When the authority ended too early, API servers trust the next one already. A new one they do not trust yet.
  if (!holds(authority, nowMs)) return isUsable(next, view) ? "promote" : "begin";
  if (leaf === undefined || !holds(leaf, nowMs)) return "renew";
  const change = changeOf(authority, view, terms);
  if (change !== undefined) return change;
  if (nowMs >= dueMs(leaf) && nowMs + shareOf(leaf) < authority.notAfterMs) return "renew";
  const kept = stillNeeded(stored, nowMs, terms);
  return isAsWritten && kept.length === previous.length ? undefined : "mend";
}

/** The step that a change of the authority needs. */
function changeOf(
  authority: HeldPair,
  view: CertificateView,
  terms: CertificateTerms,
): "announce" | "promote" | undefined {
  const { stored, nowMs } = view;
  const { next } = stored;
  if (next === undefined || !holds(next, nowMs)) {
    return nowMs >= dueMs(authority) ? "announce" : undefined;
  }
  return isUsable(next, view) && nowMs >= promotionMs(authority, next, terms)
    ? "promote"
    : undefined;
}

function isUsable(next: HeldPair | undefined, { isNextTrusted, nowMs }: CertificateView): boolean {
  return next !== undefined && isNextTrusted && holds(next, nowMs);
}

/** After the overlap. Sooner when the change was missed and the authority would end before all replicas have changed. */
function promotionMs(
  authority: HeldPair,
  next: HeldPair,
  { overlapMs }: Pick<CertificateTerms, "overlapMs">,
): number {
  return Math.min(issuedAtMs(next) + overlapMs, authority.notAfterMs - shareOf(authority) / 2);
}

/** The earlier authorities whose certificates some replica may still serve. */
function stillNeeded(
  { leaf, previous }: StoredCertificates,
  nowMs: number,
  { overlapMs }: Pick<CertificateTerms, "overlapMs">,
): StoredCertificates["previous"] {
  const isOver = leaf !== undefined && nowMs >= issuedAtMs(leaf) + overlapMs;
  return isOver ? [] : previous.filter(({ notAfterMs }) => nowMs < notAfterMs);
}

/** Milliseconds until the plan has to be made again. Never long, because clocks jump. */
export function nextLookMs(
  { authority, next, leaf }: StoredCertificates,
  nowMs: number,
  terms: Pick<CertificateTerms, "overlapMs">,
): number {
  const times = [
    ...[authority, leaf].flatMap((pair) => (pair === undefined ? [] : [dueMs(pair)])),
    ...(leaf === undefined ? [] : [issuedAtMs(leaf) + terms.overlapMs]),
    ...(authority === undefined || next === undefined ? [] : [promotionMs(authority, next, terms)]),
  ];
  const waits = times.map((time) => time - nowMs).filter((wait) => wait > 0);
  return Math.max(shortestWaitMs, Math.min(longestWaitMs, ...waits));
}

function holds({ notBeforeMs, notAfterMs }: HeldPair, nowMs: number): boolean {
  return notBeforeMs <= nowMs && nowMs < notAfterMs;
}

/** When two thirds of a certificate's life are over. */
function dueMs(pair: HeldPair): number {
  return issuedAtMs(pair) + ((pair.notAfterMs - issuedAtMs(pair)) * 2) / 3;
}

function issuedAtMs({ notBeforeMs }: HeldPair): number {
  return notBeforeMs + earlyMs;
}

/** A third of a certificate's life. A renewal has to gain that much; otherwise certificates that end with their authority would be renewed again and again. */
function shareOf(pair: HeldPair): number {
  return (pair.notAfterMs - issuedAtMs(pair)) / 3;
}

export interface StepSettings extends CertificateTerms {
  /** Names of the Service; first the one that API servers use. */
  readonly dnsNames: readonly string[];
}

export interface StepView {
  readonly stored: StoredCertificates;
  /** Authorities of the certificates that this process served; `begin` keeps them trusted. */
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
  // X.520 limits a common name to 64 characters, and OpenSSL checks it.
  const validity = { notBeforeMs: nowMs - earlyMs, notAfterMs: nowMs + authorityMs };
  return withTimes(await issueAuthority(name.slice(-64), validity));
}

async function newLeaf(
  authority: HeldPair,
  nowMs: number,
  { leafMs, dnsNames }: StepSettings,
): Promise<HeldPair> {
  const notAfterMs = Math.min(nowMs + leafMs, authority.notAfterMs);
  const validity = { notBeforeMs: nowMs - earlyMs, notAfterMs };
  return withTimes(await issueServing(dnsNames, authority, validity));
}

function withTimes({ certificatePem, keyPem }: KeyPair): HeldPair {
  const pair = pairOf(certificatePem, keyPem);
  if (pair === undefined) throw new Error("A certificate was made that does not fit its key");
  return pair;
}
