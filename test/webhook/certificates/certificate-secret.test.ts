import { generateKeyPairSync, X509Certificate } from "node:crypto";

import { describe, expect, test } from "vitest";

import { certificatesAfter } from "../../../webhook/certificates/certificate-plan.ts";
import {
  bundleOf,
  isAsWritten,
  secretDataOf,
  storedCertificatesOf,
} from "../../../webhook/certificates/certificate-secret.ts";

const day = 86_400_000;
const nowMs = Date.now();
const dnsNames = ["knfleet-webhook.knfleet-system.svc"];
const settings = { leafMs: 7 * day, authorityMs: 90 * day, overlapMs: 3_600_000, dnsNames };
const nothing = storedCertificatesOf(undefined, dnsNames);

const begin = () =>
  certificatesAfter("begin", { stored: nothing, remembered: [], nowMs }, settings);

const read = (data: Readonly<Record<string, unknown>>) => storedCertificatesOf(data, dnsNames);

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("the Secret", () => {
  test("gives back what was written, an hour early and within its life", async () => {
    const made = await begin();
    const data = secretDataOf(made);
    expect(read(data)).toEqual(made);
    expect(isAsWritten(data, read(data))).toBe(true);
    const { notBeforeMs, notAfterMs } = made.leaf ?? { notBeforeMs: 0, notAfterMs: 0 };
    expect(nowMs - notBeforeMs).toBeGreaterThanOrEqual(3_600_000);
    expect(nowMs - notBeforeMs).toBeLessThan(3_602_000);
    expect(Math.abs(notAfterMs - nowMs - 7 * day)).toBeLessThan(1_000);
  });

  test("holds no key of anything but what signs or serves", async () => {
    const keyNames = Object.keys(secretDataOf(await begin())).filter((key) => key.endsWith("key"));
    expect(keyNames).toEqual(["tls.key", "authority.key"]);
  });

  const foreignKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const foreignPem = foreignKey.export({ type: "pkcs8", format: "pem" }).toString();

  test.each([
    ["no text", 5],
    ["not base64", "%%%"],
    ["no PEM", base64("garbage")],
    ["a key of somebody else", base64(foreignPem)],
    ["nothing", ""],
  ])("with %s as a key has no such pair", async (_name, value) => {
    const data = secretDataOf(await begin());
    expect(read({ ...data, "tls.key": value }).leaf).toBeUndefined();
    expect(read({ ...data, "authority.key": value })).toMatchObject({
      authority: undefined,
      leaf: undefined,
    });
  });

  test("has no leaf that another authority signed, or that is for other names", async () => {
    const [one, other] = await Promise.all([begin(), begin()]);
    const mixed = secretDataOf({ ...one, leaf: other.leaf });
    expect(read(mixed)).toMatchObject({ leaf: undefined, authority: one.authority });
    expect(storedCertificatesOf(secretDataOf(one), ["other.svc"]).leaf).toBeUndefined();
  });

  test("that says more than it should is not as written", async () => {
    const data = secretDataOf(await begin());
    expect(isAsWritten({ ...data, more: "eA==" }, read(data))).toBe(false);
    const { "ca.crt": _bundle, ...rest } = data;
    expect(isAsWritten(rest, read(rest))).toBe(false);
  });
});

describe("an authority", () => {
  test("is trusted before it signs, and after it signed last", async () => {
    const first = await begin();
    const announced = await certificatesAfter(
      "announce",
      { stored: first, remembered: [], nowMs },
      settings,
    );
    expect(announced.leaf).toBe(first.leaf);
    expect(bundleOf(announced)).toContain(first.authority?.certificatePem);
    expect(bundleOf(announced)).toContain(announced.next?.certificatePem);
    const promoted = await certificatesAfter(
      "promote",
      { stored: announced, remembered: [], nowMs },
      settings,
    );
    expect(promoted.authority).toBe(announced.next);
    expect(bundleOf(promoted)).toContain(first.authority?.certificatePem);
    const [leaf, authority] = [promoted.leaf, promoted.authority].map(
      (pair) => new X509Certificate(pair?.certificatePem ?? ""),
    );
    expect(authority?.publicKey !== undefined && leaf?.verify(authority.publicKey)).toBe(true);
  });

  test("that a process remembers stays trusted when the Secret is gone", async () => {
    const { authority } = await begin();
    if (authority === undefined) throw new Error("There is no authority");
    const again = await certificatesAfter(
      "begin",
      { stored: nothing, remembered: [authority], nowMs },
      settings,
    );
    expect(bundleOf(again)).toContain(authority.certificatePem);
    expect(again.authority?.certificatePem).not.toBe(authority.certificatePem);
  });

  test("does not sign for longer than it lives itself", async () => {
    const first = await begin();
    const later = nowMs + 88 * day;
    const renewed = await certificatesAfter(
      "renew",
      { stored: first, remembered: [], nowMs: later },
      settings,
    );
    expect(renewed.leaf?.notAfterMs).toBe(first.authority?.notAfterMs);
  });
});
