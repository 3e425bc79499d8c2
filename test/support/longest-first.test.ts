import { existsSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { longest } from "./longest-first.ts";

test.each(longest)("%s, which runs first, exists", (file) => {
  expect(existsSync(resolve(import.meta.dirname, "../..", file))).toBe(true);
});
