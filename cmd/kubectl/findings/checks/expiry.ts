import { X509Certificate } from "node:crypto";

import type { ClusterProfile } from "../../../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../../../api/component.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import { type KnfCode, knfCodes } from "../../../../api/knf/knf-codes.ts";
import { UsageError } from "../../errors.ts";
import { spanMsOf } from "../../output/duration.ts";
import { stringAt } from "../../selection/fields.ts";
import type { AccessEnds } from "../walk-target.ts";
import { checkItem, type CheckItem } from "./check-item.ts";

const dayMs = 86_400_000;
const usualDays = 7;

/** The time before an end in which it is reported. */
export interface ExpiryWindow {
  readonly nowMs: number;
  readonly withinMs: number;
  /** Whether an end within that time is an error; else it is a warning. */
  readonly isStrict: boolean;
}

/** Reads `--warn-within`: a duration, or days as in `14d`. Throws UsageError. */
export function expiryWindow(text: string | undefined, nowMs: number): ExpiryWindow {
  if (text === undefined) return { nowMs, withinMs: usualDays * dayMs, isStrict: false };
  const withinMs = spanMsOf(text);
  if (withinMs !== undefined && withinMs >= 0) return { nowMs, withinMs, isStrict: true };
  throw new UsageError(`Invalid value "${text}" for --warn-within: want a duration such as 14d`);
}

/** Items for the ends of a cluster's credential, server certificate and authority, as far as these are known. */
export function expiryItems(
  { credentialMs, serverMs, isStored }: AccessEnds,
  of: { readonly profile: ClusterProfile | undefined; readonly cluster: ClusterProfileRef },
  window: ExpiryWindow,
): readonly CheckItem[] {
  const { cluster } = of;
  const ends: readonly End[] = [
    {
      what: isStored ? "the stored credential" : "the credential",
      endMs: credentialMs,
      soon: isStored ? "KNF3021" : "KNF3020",
      over: "KNF3014",
    },
    { what: "the server's certificate", endMs: serverMs, soon: "KNF4013", over: "KNF4011" },
    ...authorityEndsMs(of.profile).map((endMs) => ({
      what: "the authority in the ClusterProfile",
      endMs,
    })),
  ];
  return ends.flatMap((end) => itemFor(end, cluster, window));
}

interface End {
  readonly what: string;
  readonly endMs: number | undefined;
  /** Codes for an end within the window, and for one in the past. */
  readonly soon?: KnfCode;
  readonly over?: KnfCode;
}

function itemFor(
  { what, endMs, soon, over }: End,
  cluster: ClusterProfileRef,
  { nowMs, withinMs, isStrict }: ExpiryWindow,
): readonly CheckItem[] {
  if (endMs === undefined) return [];
  const leftMs = endMs - nowMs;
  const endsAt = timestampOf(new Date(endMs));
  const text = `${what} ends ${endsAt}, in ${leftText(leftMs)}`;
  const item = { check: "expiry", cluster, endsAt };
  if (leftMs <= 0) {
    const code = over ?? null;
    return [checkItem({ ...item, state: "FAIL", code, message: `${what} ended ${endsAt}` })];
  }
  if (leftMs > withinMs) return [checkItem({ ...item, state: "OK", message: text })];
  // A credential that a plugin makes may always have a short life.
  if (soon === "KNF3020" && leftMs < dayMs) {
    const message = `${text}; it may be made anew by its plugin in time`;
    return isStrict
      ? [checkItem({ ...item, state: "WARN", code: soon, message })]
      : [checkItem({ ...item, state: "OK", message })];
  }
  const next = [soon === "KNF3021" ? knfCodes[soon].next : `Renew it before ${endsAt}.`];
  const state = isStrict ? "FAIL" : "WARN";
  return [checkItem({ ...item, state, code: soon ?? null, message: text, next })];
}

function leftText(leftMs: number): string {
  const hours = Math.floor(leftMs / 3_600_000);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** Ends of the authorities with which the servers of a profile are verified, each once. */
function authorityEndsMs(profile: ClusterProfile | undefined): readonly number[] {
  const { accessProviders, credentialProviders } = profile?.status ?? {};
  const ends = [...(accessProviders ?? []), ...(credentialProviders ?? [])].flatMap((provider) => {
    const data = stringAt(provider, "cluster", "certificate-authority-data");
    return data === null ? [] : endsOf(Buffer.from(data, "base64").toString("utf8"));
  });
  return [...new Set(ends)];
}

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The end of a bundle: a bundle is of use until the last of its authorities ends. */
function endsOf(text: string): readonly number[] {
  const ends = Array.from(text.matchAll(pem), ([block]) => endOf(block)).filter(
    (end) => end !== undefined,
  );
  return ends.length === 0 ? [] : [Math.max(...ends)];
}

function endOf(block: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(block).validTo);
  } catch {
    // The step that uses the certificate reports one that cannot be read.
    return undefined;
  }
}
