import * as fc from "fast-check";
import { expect, test } from "vitest";
import { stringify } from "yaml";

import { FleetError } from "../../../api/errors.ts";
import { parseUserManifest } from "../../../render/release/user-manifests.ts";
import { runsOf } from "../../support/fuzz.ts";

const url = "https://files.example.com/a.yaml";

async function isAnswered(text: string): Promise<boolean> {
  try {
    return (await parseUserManifest(url, text)).every(({ kind }) => kind !== "");
  } catch (error) {
    return error instanceof FleetError && error.reason === "ManifestInvalid";
  }
}

const pieces = fc.constantFrom(
  "---\n",
  "apiVersion: v1\n",
  "kind: ",
  "List\n",
  "metadata:\n",
  "  name: a\n",
  "items:\n",
  "- ",
  "&a ",
  "*a\n",
  "!!binary ",
  "!x ",
  "<<: ",
  "{",
  "}",
  "[",
  "]",
  ": ",
  "? ",
  "|\n",
  ">-\n",
  "\t",
  "#",
  "%YAML 1.1\n",
  "%TAG ! x\n",
  "...\n",
  "'",
  '"',
  "\\u0000",
  "\u0000",
  "\uFEFF",
  "null",
  "~",
  ".nan",
  "__proto__: ",
  "\n",
);

test("whatever stands at a URL, there are objects or a reason", async () => {
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join("")),
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.jsonValue().map((value) => JSON.stringify(value)),
  );
  await fc.assert(fc.asyncProperty(texts, isAnswered), { numRuns: runsOf(12_000) });
  expect(await isAnswered("")).toBe(true);
});

test("whatever an object holds, it is taken or refused", async () => {
  const anything = fc.dictionary(
    fc.constantFrom(
      "apiVersion",
      "kind",
      "metadata",
      "subjects",
      "roleRef",
      "webhooks",
      "items",
      "spec",
    ),
    fc.oneof(
      fc.constantFrom(
        "v1",
        "rbac.authorization.k8s.io/v1",
        "List",
        "ClusterRoleBinding",
        "ConfigMap",
      ),
      fc.jsonValue(),
      fc.record({
        name: fc.oneof(fc.constant("config-a"), fc.jsonValue()),
        labels: fc.jsonValue(),
      }),
    ),
  );
  const texts = anything.map((value) => stringify(value));
  await fc.assert(fc.asyncProperty(texts, isAnswered), { numRuns: runsOf(4_000) });
  expect(await isAnswered("a")).toBe(true);
});
