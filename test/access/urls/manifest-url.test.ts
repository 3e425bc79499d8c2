import { describe, expect, test } from "vitest";

import { allowedSourceOf } from "../../../access/urls/allowed-source.ts";
import { allowedManifestUrl } from "../../../access/urls/manifest-url.ts";

const sources = ["https://files.example.com/knative/", "https://one.example.com/a.yaml"].flatMap(
  (text) => allowedSourceOf(text) ?? [],
);

describe("a URL of a manifest", () => {
  test.each([
    "https://files.example.com/knative/1.23/serving.yaml",
    "HTTPS://FILES.example.com/knative/a.yaml?token=x",
    "https://files.example.com:443/knative/a.yaml",
    "https://files.example.com/knative/v1..2.yaml",
    "https://one.example.com/a.yaml#sha256=0",
  ])("%s is below a source", (text) => {
    expect(allowedManifestUrl(text, sources)).toBeInstanceOf(URL);
  });

  test.each([
    "https://files.example.com/other/a.yaml",
    "https://files.example.com/knative-other/a.yaml",
    "https://files.example.com:8443/knative/a.yaml",
    "https://files.example.com.evil.example/knative/a.yaml",
    "https://one.example.com/a.yaml.old",
    "http://files.example.com/knative/a.yaml",
    "/etc/passwd",
    "etc/passwd",
    "file:///etc/passwd",
    "data:text/yaml,a",
    "",
    "https://",
    "https:///knative/a.yaml",
    "https:files.example.com/knative/a.yaml",
    "https://user:secret@files.example.com/knative/a.yaml",
    "https://files.example.com/knative/a.yaml,https://files.example.com/knative/b.yaml",
    "https://files.example.com/knative/../other/a.yaml",
    "https://files.example.com/knative/%2e%2E/other/a.yaml",
    "https://files.example.com/knative/.%2e/other/a.yaml",
    "https://files.example.com/knative/..%2fother/a.yaml",
    "https://files.example.com/knative/..",
    "https://files.example.com/knative\\a.yaml",
    "https://files.example.com/knative/a.yaml\u0000",
    "https://files.example.com/knative/%00",
    " https://files.example.com/knative/a.yaml",
    "https://files.example.com/kna\ttive/a.yaml",
    `https://files.example.com/knative/${"a".repeat(2_048)}`,
  ])("%j is not allowed", (text) => {
    expect(() => allowedManifestUrl(text, sources)).toThrow(
      expect.objectContaining({
        reason: "ManifestSourceNotAllowed",
        message: expect.not.stringMatching(/secret|\n|\0/),
      }),
    );
  });

  test("is never allowed without a source", () => {
    expect(() => allowedManifestUrl("https://files.example.com/a.yaml", [])).toThrow(
      expect.objectContaining({
        reason: "ManifestSourceNotAllowed",
        message: expect.stringContaining("--manifest-source"),
      }),
    );
  });
});

test.each(["http://a.example", "a.example", "", "https://a.example/?q=1", "https://a.example/#x"])(
  "%j is no source",
  (text) => {
    expect(allowedSourceOf(text)).toBeUndefined();
  },
);
