import { expect, test } from "vitest";

import { Secret } from "../../../../../access/plugins/credential.ts";
import {
  describeCredential,
  readsSecret,
} from "../../../../../cmd/kubectl/findings/hops/plugin-hops.ts";

const nowMs = Date.parse("2026-11-21T12:00:00Z");

test.each([
  { token: "abc.def.ghi", codes: [], says: "" },
  { token: "Bearer abc.def.ghi", codes: ["KNF3011"], says: 'itself begins with "Bearer "' },
  { token: "abc def", codes: ["KNF3011"], says: "holds a space" },
])("the token '$token' gives $codes", ({ token, codes, says }) => {
  const credential = { authorization: new Secret(`Bearer ${token}`) };
  const { findings = [], value } = describeCredential(credential, nowMs);
  expect(findings.map(({ code }) => code)).toEqual(codes);
  expect(findings.map(({ message }) => message).join("")).toContain(says);
  expect(JSON.stringify(findings)).not.toContain("abc");
  // What the API server says of it is worth to be seen, too.
  expect(value).toBe(credential);
});

test.each([
  { name: "in whole seconds", endsAt: "2026-11-21T13:00:00Z" },
  { name: "between two seconds", endsAt: "2026-11-21T13:00:00.250Z" },
])("the end of a credential that ends $name has no milliseconds", ({ endsAt }) => {
  const credential = {
    authorization: new Secret("Bearer abc.def.ghi"),
    expiresAtMs: Date.parse(endsAt),
  };
  expect(describeCredential(credential, nowMs)).toMatchObject({
    message: "token, ends 2026-11-21T13:00:00Z",
    endsAtMs: Date.parse(endsAt),
  });
});

test.each([
  ["builtin:secretreader", "any", true],
  ["/access-plugins/kubeconfig-secretreader", "any", true],
  ["/plugins/secrets/plugin", "secretreader", true],
  ["/plugins/cloud-auth", "cloud", false],
])("%s of provider %s returns the content of a Secret: %s", (command, provider, isStored) => {
  const plan = { command, provider, args: ["--audience", "hub"], env: [], timeoutMs: 1 };
  const exec = { apiVersion: "client.authentication.k8s.io/v1", installHint: "" } as const;
  expect(readsSecret({ ...plan, ...exec })).toBe(isStored);
});
