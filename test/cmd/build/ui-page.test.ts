import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { pagePackages } from "../../../cmd/build/build.ts";
import { makePage, pagePath } from "../../../cmd/build/ui-page.ts";
import { pageScript, pageStyle } from "../../../cmd/kubectl/page/page-text.ts";

test("the page is made from its sources: npm run ui-page", async () => {
  const file = join(import.meta.dirname, "../../..", pagePath);
  const { text, modules } = await makePage();
  expect(readFileSync(file, "utf8") === text).toBe(true);
  // Their licences are passed on with the bundle.
  const packages = modules.flatMap((path) => /^node_modules\/[^/]+/.exec(path) ?? []);
  expect([...new Set(packages)].toSorted()).toEqual(pagePackages);
});

test("script and style are small, and ask no other host", () => {
  expect(Buffer.byteLength(pageScript) + Buffer.byteLength(pageStyle)).toBeLessThan(150_000);
  const addresses = [...`${pageScript}${pageStyle}`.matchAll(/(?:https?:)?\/\/[\w.-]+\.\w+/g)];
  // Names of markup languages, which nobody fetches.
  expect(addresses.map(String).filter((one) => !one.includes("www.w3.org"))).toEqual([]);
  expect(pageScript).not.toMatch(/\beval\(|new Function\(|dangerouslySetInnerHTML:/);
});
