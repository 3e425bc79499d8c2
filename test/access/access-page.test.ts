import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { parseProviderFile } from "../../access/provider-config.ts";
import { providerSchema } from "../../access/provider-schema.ts";
import { blocksOf } from "../demo/page.ts";

const page = await readFile(join(import.meta.dirname, "../../docs/access.md"), "utf8");
const examples = blocksOf(page).filter(
  ({ language, text }) => language === "yaml" && /^providers:$/m.test(text),
);

describe("docs/access.md", () => {
  test("has provider files for the official plugins, Open Cluster Management and clouds", () => {
    const names = examples.flatMap(({ text }) =>
      parseProviderFile(text, { path: "example", format: "yaml" }).providers.map(
        ({ name }) => name,
      ),
    );
    expect(names).toEqual([
      "secretreader",
      "kubeconfig-secretreader",
      "open-cluster-management",
      "gke-fleet",
      "eks",
    ]);
  });

  test.each(examples)("has nothing odd in its provider files", ({ text }) => {
    const { providers, warnings } = parseProviderFile(text, { path: "example", format: "yaml" });
    expect(warnings).toEqual([]);
    expect(providers.flatMap(({ problem }) => problem ?? [])).toEqual([]);
  });

  test.each(Object.keys(providerSchema.properties))("explains the key %s", (key) => {
    expect(page).toMatch(new RegExp(`^\\| \`${key}[\`.]`, "m"));
  });
});
