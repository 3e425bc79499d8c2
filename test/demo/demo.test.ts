import { expect, test } from "vitest";

import { runDemo } from "./demo-process.ts";
import { usage } from "./options.ts";

test("npm run demo -- --help prints the usage and starts nothing", async () => {
  expect(await runDemo({ args: ["--help"] })).toEqual({ code: 0, text: usage });
});

test("a wrong argument ends the demo with code 2 before anything starts", async () => {
  const { code, text } = await runDemo({ args: ["--twice"] });
  expect(code).toBe(2);
  expect(text).toContain("--twice");
  expect(text).not.toContain("== 1/");
});
