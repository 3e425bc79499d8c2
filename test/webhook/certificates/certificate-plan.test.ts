import { describe, expect, test } from "vitest";

import { earlyMs, nextLookMs, stepOf } from "../../../webhook/certificates/certificate-plan.ts";
import type {
  HeldPair,
  StoredCertificates,
} from "../../../webhook/certificates/certificate-secret.ts";

const day = 86_400_000;
const hour = 3_600_000;
const nowMs = Date.UTC(2026, 10, 21);
const terms = { leafMs: 7 * day, authorityMs: 90 * day, overlapMs: hour };

/** A certificate that was made some time ago for a life. */
function pair(name: string, agoMs: number, lifeMs: number): HeldPair {
  const notBeforeMs = nowMs - agoMs - earlyMs;
  return { certificatePem: name, keyPem: "", notBeforeMs, notAfterMs: nowMs - agoMs + lifeMs };
}

const fresh: StoredCertificates = {
  authority: pair("authority", day, terms.authorityMs),
  next: undefined,
  leaf: pair("leaf", day, terms.leafMs),
  previous: [],
};

interface Case {
  readonly name: string;
  readonly stored: Partial<StoredCertificates>;
  readonly isAsWritten?: boolean;
  readonly isNextTrusted?: boolean;
  readonly step: string | undefined;
}

const cases: readonly Case[] = [
  { name: "a day old", stored: {}, step: undefined },
  { name: "nothing there", stored: { authority: undefined, leaf: undefined }, step: "begin" },
  {
    name: "the authority expired",
    stored: { authority: pair("a", 91 * day, terms.authorityMs) },
    step: "begin",
  },
  {
    name: "the authority from a clock that was 8 days ahead",
    stored: { authority: pair("a", -8 * day, terms.authorityMs) },
    step: "begin",
  },
  { name: "no leaf", stored: { leaf: undefined }, step: "renew" },
  { name: "the leaf expired", stored: { leaf: pair("l", 8 * day, terms.leafMs) }, step: "renew" },
  {
    name: "the leaf from a clock that was 8 days ahead",
    stored: { leaf: pair("l", -8 * day, terms.leafMs) },
    step: "renew",
  },
  {
    name: "the leaf shortly before 2/3 of its life",
    stored: { leaf: pair("l", 4.6 * day, terms.leafMs) },
    step: undefined,
  },
  {
    name: "the leaf after 2/3 of its life",
    stored: { leaf: pair("l", 4.7 * day, terms.leafMs) },
    step: "renew",
  },
  {
    name: "the authority shortly before 2/3 of its life",
    stored: { authority: pair("a", 59.9 * day, terms.authorityMs) },
    step: undefined,
  },
  {
    name: "the authority after 2/3 of its life",
    stored: { authority: pair("a", 60.1 * day, terms.authorityMs) },
    step: "announce",
  },
  {
    name: "the next authority trusted for less than the overlap",
    stored: {
      authority: pair("a", 61 * day, terms.authorityMs),
      next: pair("n", hour / 2, terms.authorityMs),
    },
    isNextTrusted: true,
    step: undefined,
  },
  {
    name: "the next authority announced and not trusted by a configuration",
    stored: {
      authority: pair("a", 61 * day, terms.authorityMs),
      next: pair("n", 2 * hour, terms.authorityMs),
    },
    isNextTrusted: false,
    step: undefined,
  },
  {
    name: "the next authority trusted for the overlap",
    stored: {
      authority: pair("a", 61 * day, terms.authorityMs),
      next: pair("n", 2 * hour, terms.authorityMs),
    },
    isNextTrusted: true,
    step: "promote",
  },
  {
    name: "the next authority announced so late that the other would end before the overlap",
    stored: {
      authority: pair("a", 76 * day, terms.authorityMs),
      next: pair("n", 60_000, terms.authorityMs),
    },
    isNextTrusted: true,
    step: "promote",
  },
  {
    name: "the next authority announced late and not trusted by a configuration",
    stored: {
      authority: pair("a", 76 * day, terms.authorityMs),
      next: pair("n", 60_000, terms.authorityMs),
    },
    step: undefined,
  },
  {
    name: "the authority expired, and the next one trusted",
    stored: {
      authority: pair("a", 91 * day, terms.authorityMs),
      next: pair("n", 60_000, terms.authorityMs),
    },
    isNextTrusted: true,
    step: "promote",
  },
  {
    name: "the authority expired, and the next one not trusted",
    stored: {
      authority: pair("a", 91 * day, terms.authorityMs),
      next: pair("n", 60_000, terms.authorityMs),
    },
    step: "begin",
  },
  {
    name: "the next authority expired",
    stored: {
      authority: pair("a", 61 * day, terms.authorityMs),
      next: pair("n", 91 * day, terms.authorityMs),
    },
    step: "announce",
  },
  {
    name: "a leaf that would not live longer, because its authority ends",
    stored: {
      authority: pair("a", 89 * day, terms.authorityMs),
      next: pair("n", hour / 2, terms.authorityMs),
      leaf: pair("l", 5 * day, 6 * day),
    },
    step: undefined,
  },
  { name: "something else in the Secret", stored: {}, isAsWritten: false, step: "mend" },
  {
    name: "an authority that signed until a moment ago",
    stored: {
      previous: [{ certificatePem: "old", notAfterMs: nowMs + day }],
      leaf: pair("l", hour / 2, terms.leafMs),
    },
    step: undefined,
  },
  {
    name: "an authority that has signed nothing for the overlap",
    stored: { previous: [{ certificatePem: "old", notAfterMs: nowMs + day }] },
    step: "mend",
  },
];

describe("the next step", () => {
  test.each(cases)(
    "$name: $step",
    ({ stored, isAsWritten = true, isNextTrusted = false, step }) => {
      const view = { stored: { ...fresh, ...stored }, isAsWritten, isNextTrusted, nowMs };
      expect(stepOf(view, terms)).toBe(step);
    },
  );
});

test("the plan is looked at again after five seconds at the latest, because clocks jump", () => {
  expect(nextLookMs(fresh, nowMs, terms)).toBe(5_000);
  const due = { ...fresh, leaf: pair("l", (terms.leafMs * 2) / 3 - 700, terms.leafMs) };
  expect(nextLookMs(due, nowMs, terms)).toBeCloseTo(700, 0);
});
