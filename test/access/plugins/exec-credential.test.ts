import { inspect } from "node:util";

import { describe, expect, test } from "vitest";

import type { Credential } from "../../../access/plugins/credential.ts";
import { parseExecCredential } from "../../../access/plugins/exec-credential.ts";
import { FleetError } from "../../../api/errors.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import { refusalOf } from "./refusal-of.ts";

const v1 = "client.authentication.k8s.io/v1";
const plan = { apiVersion: v1, command: "/p/plugin", provider: "sr" } as const;
const now = new Date("2026-11-21T12:00:00Z");
const authority = createAuthority("test");
const one = authority.issue({ commonName: "one", usage: "client" });
const two = authority.issue({ commonName: "two", usage: "client" });

function parse(status: unknown, overrides: object = {}): Credential {
  const output = { kind: "ExecCredential", apiVersion: v1, status, ...overrides };
  return parseExecCredential(JSON.stringify(output), plan, now);
}

describe("the output of a plugin", () => {
  test("may be YAML (X12)", () => {
    const output = `# comment\nkind: ExecCredential\napiVersion: ${v1}\nstatus:\n  token: T1\n`;
    expect(parseExecCredential(output, plan, now).authorization?.reveal()).toBe("Bearer T1");
  });

  test.each([
    ["levels", "[".repeat(1_000_000), "has more than 64 levels"],
    ["levels of YAML", `a: ${"[".repeat(1_000_000)}`, "has more than 64 levels"],
    ["values", `[${"1,".repeat(100_000)}1]`, "has more than 10000 values"],
  ])("of too many %s is refused before it is parsed", (_, output, says) => {
    expect(() => parseExecCredential(output, plan, now)).toThrow(says);
  });

  test.each([
    {
      name: "a greeting in front of it",
      text: "Welcome to ACME!\n{}",
      says: "begins with other text",
    },
    { name: "a greeting with a colon", text: "note: hello\n{}", says: "begins with other text" },
    { name: "a warning behind it", text: "{}\nWARNING: update me", says: "ends with other text" },
    { name: "a greeting and something else", text: "Hello\n[1, 2", says: "" },
  ])("is refused with $name, and nothing of it is told", ({ text, says }) => {
    const output = JSON.stringify({
      kind: "ExecCredential",
      apiVersion: v1,
      status: { token: "T1" },
    });
    let message = "";
    try {
      parseExecCredential(text.replace("{}", output), plan, now);
    } catch (error) {
      message = error instanceof FleetError ? `${error.code}: ${error.message}` : String(error);
    }
    expect(message).toContain("PluginOutputInvalid: ");
    expect(message).toContain(says);
    expect(message).not.toMatch(/T1|ACME|update/);
  });

  test("may be JSON behind a comment, which is YAML", () => {
    const json = JSON.stringify({
      kind: "ExecCredential",
      apiVersion: v1,
      status: { token: "T1" },
    });
    const credential = parseExecCredential(`# hello\n${json}\n`, plan, now);
    expect(credential.authorization?.reveal()).toBe("Bearer T1");
  });

  test("may have a token with white space around it (X14)", () => {
    expect(parse({ token: " T1\n" }).authorization?.reveal()).toBe("Bearer T1");
  });

  test("may have a certificate and a token, and both are used (X11)", () => {
    const credential = parse({
      token: "T1",
      clientCertificateData: one.certificatePem,
      clientKeyData: one.keyPem,
    });
    expect(credential.authorization?.reveal()).toBe("Bearer T1");
    expect(credential.certificate?.certificatePem).toBe(one.certificatePem);
  });

  test("may lack a kind, as in Go (X06)", () => {
    expect(parse({ token: "T1" }, { kind: undefined }).authorization).toBeDefined();
  });

  test.each([
    { name: "an hour ahead", at: "2026-11-21T13:00:00Z", is: "2026-11-21T13:00:00Z" },
    { name: "with an offset", at: "2026-11-21T14:00:00.5+01:00", is: "2026-11-21T13:00:00.500Z" },
    {
      name: "a moment ago, because clocks differ",
      at: "2026-11-21T11:59:30Z",
      is: "2026-11-21T11:59:30Z",
    },
  ])("may expire $name", ({ at, is }) => {
    const credential = parse({ token: "T1", expirationTimestamp: at });
    expect(credential.expiresAtMs).toBe(Date.parse(is));
  });

  test("expires with its certificate when that is earlier (C12)", () => {
    const credential = parse({
      clientCertificateData: one.certificatePem,
      clientKeyData: one.keyPem,
      expirationTimestamp: "2126-01-01T00:00:00Z",
    });
    expect(credential.expiresAtMs).toBeLessThan(Date.parse("2126-01-01T00:00:00Z"));
  });
});

test.each([
  { name: "no status (X07)", status: undefined },
  { name: "an empty status (X08)", status: {} },
  { name: "a blank token", status: { token: "  " } },
  { name: "a token that is a number", status: { token: 1 } },
  { name: "a line break in the token (X15)", status: { token: "a\nb" } },
  { name: "a token that a header cannot hold", status: { token: "t\tk" } },
  {
    name: "a certificate without a key (X09)",
    status: { clientCertificateData: one.certificatePem },
  },
  { name: "a key without a certificate (X09)", status: { token: "T1", clientKeyData: one.keyPem } },
  {
    name: "a key of another certificate (X10)",
    status: { clientCertificateData: one.certificatePem, clientKeyData: two.keyPem },
  },
  { name: "an expiry that is a date", status: { token: "T1", expirationTimestamp: "2027-01-01" } },
  {
    name: "an expiry long ago",
    status: { token: "T1", expirationTimestamp: "2026-11-21T11:00:00Z" },
  },
])("output with $name is refused (T-44)", ({ status }) => {
  expect(refusalOf(() => parse(status))).toBe("AccessProviderFailed PluginOutputInvalid");
});

test.each([
  { name: "another kind", overrides: { kind: "Foo" } },
  { name: "another version (X04)", overrides: { apiVersion: `${v1}beta1` } },
  { name: "no version", overrides: { apiVersion: undefined } },
])("output with $name is refused (T-44)", ({ overrides }) => {
  expect(refusalOf(() => parse({ token: "T1" }, overrides))).toBe(
    "AccessProviderFailed PluginOutputInvalid",
  );
});

test("a credential cannot be printed (T-81)", () => {
  const credential = parse({
    token: "canary",
    clientCertificateData: one.certificatePem,
    clientKeyData: one.keyPem,
  });
  const printed = [
    JSON.stringify(credential),
    inspect(credential, { depth: 9, showHidden: true }),
    String(credential.authorization),
  ].join(" ");
  expect(printed).not.toContain("canary");
  expect(printed).not.toContain("PRIVATE KEY");
});

test.each(["1e300", "1e12", "-1", "0", '"4070908800"', "null"])(
  "a token that says it ends at %s says nothing",
  (exp) => {
    const payload = Buffer.from(`{"exp":${exp}}`).toString("base64url");
    expect(parse({ token: `h.${payload}.s` }).expiresAtMs).toBeUndefined();
  },
);
