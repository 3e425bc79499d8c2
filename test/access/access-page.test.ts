import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { parseProviderFile } from "../../access/providers/provider-config.ts";
import { providerSchema } from "../../access/providers/provider-schema.ts";
import { resolveAccess } from "../../access/spokes/resolved-access.ts";
import { blocksOf } from "../demo/page.ts";
import { fieldsOf } from "../vectors/access-cases.ts";
import { anyCaData, profileOf } from "./builders.ts";

const page = await readFile(join(import.meta.dirname, "../../docs/access.md"), "utf8");
const blocks = blocksOf(page);
const examples = blocks.filter(
  ({ language, text }) => language === "yaml" && /^providers:$/m.test(text),
);
// One of them is what a shell writes into a file, with its variables.
const inJson = blocks.flatMap(({ language, text }) => {
  if (language === "json") return [{ text }];
  const [, written] = /<<JSON\n(.*?)\nJSON$/ms.exec(text) ?? [];
  return written === undefined ? [] : [{ text: written.replaceAll("$PWD", "/here") }];
});

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
      "google",
      "eks",
    ]);
  });

  test.each(examples)("has nothing odd in its provider files", ({ text }) => {
    const { providers, warnings } = parseProviderFile(text, { path: "example", format: "yaml" });
    expect(warnings).toEqual([]);
    expect(providers.flatMap(({ problem }) => problem ?? [])).toEqual([]);
  });

  test("has provider files in JSON for the built-in readers and the official plugins, in a pod and on a desk", () => {
    const files = inJson.map(({ text }) =>
      parseProviderFile(text, { path: "example", format: "json" }),
    );
    expect(
      files.map(({ providers }) => providers.map(({ exec }) => exec?.command ?? "unusable")),
    ).toEqual([
      ["builtin:secretreader", "builtin:kubeconfig-secretreader"],
      ["/access-plugins/secretreader", "/access-plugins/kubeconfig-secretreader"],
      ["/here/plugins/secretreader", "/here/plugins/kubeconfig-secretreader"],
    ]);
    expect(files.flatMap(({ warnings }) => warnings)).toEqual([]);
    for (const { name, rules } of files.flatMap(({ providers }) => providers)) {
      expect({ name, namespaces: rules.namespaces }).toEqual({ name, namespaces: ["fleet"] });
      expect(rules.requiredConfig ?? rules.servers).toBeDefined();
    }
  });

  test("has an access entry that the cloud's provider works with", () => {
    const entry: unknown = parse(
      blocks.find(({ text }) => text.startsWith("# eks-access-provider.yaml"))?.text ?? "",
    );
    const file = examples.find(({ text }) => text.includes("name: eks"))?.text ?? "";
    const providers = parseProviderFile(file, { path: "example", format: "yaml" });
    const cluster = {
      ...fieldsOf(fieldsOf(entry)["cluster"]),
      "certificate-authority-data": anyCaData,
    };
    const profile = profileOf({ accessProviders: [{ name: "eks", cluster }] });
    const { plan } = resolveAccess(profile, providers, Date.now());
    expect(plan.args.slice(-2)).toEqual(["--cluster-name", "spoke-1"]);
    expect(plan.env).toEqual([{ name: "AWS_REGION", value: "eu-west-1" }]);
  });

  test.each(Object.keys(providerSchema.properties))("explains the key %s", (key) => {
    expect(page).toMatch(new RegExp(`^\\| \`${key}[\`.]`, "m"));
  });
});
