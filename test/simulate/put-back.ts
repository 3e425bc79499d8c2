import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

import type { Fault } from "./known-faults.ts";

const root = new URL("../../", import.meta.url);

/** Loads the module of a fault with the fault in it, from now on: no module of the product may be there yet. Throws when the text to replace is not exactly once in the module. */
export function putBack({ name, file, from, to }: Fault): void {
  const { href } = new URL(file, root);
  const parts = readFileSync(new URL(href), "utf8").split(from);
  if (parts.length !== 2) {
    throw new Error(
      `${file} has ${parts.length - 1} times what the fault "${name}" replaces: write the fault anew`,
    );
  }
  const source = parts.join(to);
  registerHooks({
    load: (url, context, load) => ({ ...load(url, context), ...(url === href ? { source } : {}) }),
  });
}
