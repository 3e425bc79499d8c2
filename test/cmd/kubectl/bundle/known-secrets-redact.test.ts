import { generateKeyPairSync } from "node:crypto";

import { describe, expect, test } from "vitest";

import { Secret } from "../../../../access/plugins/credential.ts";
import { KnownSecrets, formsOf } from "../../../../cmd/kubectl/bundle/known-secrets.ts";
import { Redactor, checkFiles } from "../../../../cmd/kubectl/bundle/write-bundle.ts";

const token = "tok-5f8e1c0a9b7d/+canary&x";

function knowing(...values: readonly string[]): KnownSecrets {
  const known = new KnownSecrets();
  for (const value of values) known.value("any", Buffer.from(value));
  return known;
}

describe("a secret of the run (T-80)", () => {
  const secrets = knowing(token).finder();
  const redactor = new Redactor(secrets);

  test.each([
    ["as it is", token],
    ["in base64", Buffer.from(token).toString("base64")],
    ["in base64 for URLs", Buffer.from(token).toString("base64url")],
    ["in base64 behind one byte", Buffer.from(`:${token}`).toString("base64")],
    ["in base64 behind two bytes", Buffer.from(`u:${token}`).toString("base64")],
    ["in a URL", encodeURIComponent(token)],
    ["by its first ten characters", token.slice(0, 10)],
    ["by its first ten characters in base64", Buffer.from(token).toString("base64").slice(0, 10)],
  ])("is found and taken out %s", (_, text) => {
    expect(secrets.isIn(`before ${text} behind`)).toBe(true);
    const left = redactor.text(`before ${text} behind`);
    expect(left).toMatch(/^before \S*\[redacted\]\S* behind$/);
    expect(secrets.isIn(left)).toBe(false);
    for (const form of formsOf({ text: token, prefixes: true })) expect(left).not.toContain(form);
  });

  test("keeps the files from being written when it is in one all the same, without being told", () => {
    const files = [
      { path: "fine.json", text: "{}" },
      { path: "hub/x.json", text: `"${token}"` },
    ];
    expect(() => checkFiles(files, secrets)).toThrow(
      /^Nothing was written: .* is in hub\/x\.json$/,
    );
    expect(() => checkFiles([{ path: token, text: "" }], secrets)).toThrow(/is in \[redacted\]$/);
    expect(() => checkFiles(files.slice(0, 1), secrets)).not.toThrow();
  });

  test("is a name when an object has it, and stays", () => {
    const known = knowing("knative-serving");
    known.name("knative-serving");
    expect(known.finder().isIn("in knative-serving")).toBe(false);
  });

  test("is no certificate, no name of a namespace and nothing short", () => {
    const known = new KnownSecrets();
    known.value("namespace", Buffer.from("team-a-production"));
    known.value("x", Buffer.from("true"));
    known.value(
      "ca",
      Buffer.from("-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIU\n-----END CERTIFICATE-----\n"),
    );
    expect(known.finder().isIn("team-a-production true MIIBszCCAVmgAwIBAgIU")).toBe(false);
  });

  test("is every line of a private key, also in the kubeconfig of a Secret", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
    const kubeconfig = `users:\n- user:\n    client-key-data: ${Buffer.from(pem).toString("base64")}\n    token: another-token-1234567890\n`;
    const finder = knowing(kubeconfig).finder();
    for (const line of pem.split("\n").slice(1, 3)) expect(finder.isIn(`x ${line} y`)).toBe(true);
    expect(finder.isIn(Buffer.from(pem).toString("base64"))).toBe(true);
    expect(finder.isIn("another-token-1234567890")).toBe(true);
    expect(finder.isIn("apiVersion: v1")).toBe(false);
  });

  test("is the login of a registry", () => {
    const auth = Buffer.from("robot:registry-password-4711").toString("base64");
    const finder = knowing(JSON.stringify({ auths: { "r.example.com": { auth } } })).finder();
    expect([auth, "registry-password-4711"].map((text) => finder.isIn(`a ${text} b`))).toEqual([
      true,
      true,
    ]);
  });

  test("is the password of a basic login", () => {
    const known = new KnownSecrets();
    const pair = Buffer.from("jane:a-long-password-77").toString("base64");
    known.credential({ authorization: new Secret(`Basic ${pair}`) });
    const finder = known.finder();
    expect([pair, "a-long-password-77", "jane"].map((text) => finder.isIn(text))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

describe("what looks like a secret", () => {
  const redactor = new Redactor(new KnownSecrets().finder());

  test.each([
    [{ token: "abc" }, { token: "[redacted]" }],
    [
      { clientSecret: "abc", secretName: "kept" },
      { clientSecret: "[redacted]", secretName: "kept" },
    ],
    [
      { name: "DB_PASSWORD", value: "abc" },
      { name: "DB_PASSWORD", value: "[redacted]" },
    ],
    [
      { name: "LOG_LEVEL", value: "info" },
      { name: "LOG_LEVEL", value: "info" },
    ],
    [{ automountServiceAccountToken: true }, { automountServiceAccountToken: true }],
    [["http://me:pw@host/x?y"], ["http://[redacted]@host/x?y"]],
    ["Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"],
    ["env:\n - name: API_KEY\n   value: abc\n", "env:\n - name: API_KEY\n   value: [redacted]\n"],
    ['{"a":{"password":"abc"}}', '{"a":{"password":"[redacted]"}}'],
    ['{ "fine": [1] }', '{ "fine": [1] }'],
    ["knative-serving is Ready", "knative-serving is Ready"],
  ])("%j becomes %j", (before, after) => {
    expect(redactor.value(before)).toEqual(after);
  });

  test("is a certificate by its fingerprint, the same in PEM and in base64", () => {
    const pem =
      "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUeA==\n-----END CERTIFICATE-----\n";
    const text = redactor.text(pem.trim());
    expect(text).toMatch(/^\[certificate sha256:[0-9a-f]{8}\]$/);
    expect(redactor.text(Buffer.from(pem).toString("base64"))).toBe(text);
    expect(redactor.text("-----BEGIN EC PRIVATE KEY-----\nabc")).toBe("[redacted]");
  });
});
