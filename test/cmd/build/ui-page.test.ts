import { expect, test } from "vitest";

import { pagePackages } from "../../../cmd/build/build.ts";
import { makePage } from "../../../cmd/build/ui-page.ts";
import { pageScript, pageStyle } from "../../../cmd/kubectl/page/page-code.ts";

test("a checkout has the page that its sources make, and equal sources make an equal page", async () => {
  const { script, style, modules } = await makePage();
  expect(pageScript === script).toBe(true);
  expect(pageStyle === style).toBe(true);
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
