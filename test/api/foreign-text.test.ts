import { expect, test } from "vitest";

import { foreignText, redactSecrets, wholeWords } from "../../api/foreign-text.ts";

test.each([
  { name: "colours", text: "\u001b[31;1mred\u001b[0m", is: "red" },
  { name: "a cursor that is moved", text: "a\u001b[2J\u001b[1;1Hb", is: "ab" },
  { name: "the short form of sequences", text: "a\u009b31mb", is: "ab" },
  { name: "a title", text: "a\u001b]0;owned\u0007b", is: "ab" },
  { name: "a clipboard", text: "a\u001b]52;c;cm0gLXJm\u001b\\b", is: "ab" },
  { name: "a sequence without an end", text: "a\u001b]0;owned", is: "a" },
  { name: "line breaks", text: "a\r\nb\u2028c\u0085d", is: "a b c d" },
  { name: "a bare escape and NUL", text: "a\u001bb\u0000c", is: "a b c" },
  { name: "letters turned round", text: "exe\u202etxt.\u2066a\u200b", is: "exetxt.a" },
  {
    name: "half a letter at the cut",
    text: `${"a".repeat(9)}\u{1f600}`,
    is: `${"a".repeat(9)}\ufffd`,
  },
  { name: "what is fine", text: "Fünf Pods: 12 % — ok", is: "Fünf Pods: 12 % — ok" },
])("a foreign text loses $name (T-51)", ({ text, is }) => {
  expect(foreignText(text, is.length < 11 ? Math.max(10, is.length) : 256)).toBe(is);
});

test.each([
  "\u001b[".repeat(1_000_000),
  "\u001b]".repeat(1_000_000),
  `\u001b[${"1;".repeat(1_000_000)}`,
  "\u202e".repeat(2_000_000),
])("a text of megabytes is cut, and soon (T-51)", (text) => {
  const started = performance.now();
  expect(foreignText(text).length).toBeLessThanOrEqual(1_024);
  expect(performance.now() - started).toBeLessThan(10_000);
});

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
])("%j becomes %j", (text, clean) => expect(redactSecrets(text)).toBe(clean));

test("long foreign text takes no time", () => {
  const started = performance.now();
  for (const part of ["eyJ", "token", "-----BEGIN ", "a-", "bearer "]) {
    redactSecrets(part.repeat(4_096 / part.length));
  }
  expect(performance.now() - started).toBeLessThan(5_000);
});

test.each([
  { text: "no pods are ready", length: 9, is: "no pods" },
  { text: "no pods are ready", length: 8, is: "no pods" },
  { text: "no pods are ready", length: 7, is: "no pods" },
  { text: "no pods are ready", length: 17, is: "no pods are ready" },
  { text: `no ${"x".repeat(20)}`, length: 12, is: "no xxxxxxxxx" },
])("a text cut to $length characters ends after a whole word", ({ text, length, is }) => {
  expect(wholeWords(text, text.slice(0, length))).toBe(is);
});
