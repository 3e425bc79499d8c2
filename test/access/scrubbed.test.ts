import { expect, test } from "vitest";

import { scrubbed } from "../../access/scrubbed.ts";

test.each([
  ["failed to get secret a/b: not found", "failed to get secret a/b: not found"],
  ["Authorization: Bearer canary.1", "Authorization: Bearer [redacted]"],
  ["token: canary and more", "token: [redacted] and more"],
  ['{"token":"canary"}', '{"token":"[redacted]"}'],
  ["clientKeyData=canary", "clientKeyData=[redacted]"],
  ["AWS_SECRET=canary", "AWS_SECRET=[redacted]"],
  ["got eyJhbGciOiJSUzI1NiJ9.canary.sig", "got [redacted]"],
  ["-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----", "[redacted]"],
  ["-----BEGIN PRIVATE KEY-----\ncanary", "[redacted]"],
])("%j becomes %j", (text, clean) => expect(scrubbed(text)).toBe(clean));

test("long foreign text takes no time", () => {
  const started = performance.now();
  for (const part of ["eyJ", "token", "-----BEGIN ", "a-", "bearer "]) {
    scrubbed(part.repeat(4_096 / part.length));
  }
  expect(performance.now() - started).toBeLessThan(5_000);
});
