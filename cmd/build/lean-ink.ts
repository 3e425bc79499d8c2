import { dirname, join, relative } from "node:path";

import type { Plugin } from "rolldown";

/** Files of ink that connect to React's tools for developers when `DEV` is set, with a package that is not installed. */
const files = ["ink.js", "reconciler.js"];

const forDevelopers = "process.env['DEV'] === 'true'";

/** Bundles ink without what it has for its own development. Throws when ink has changed. */
export function leanInkPlugin(root: string): Plugin {
  const folder = join(root, "node_modules/ink/build");
  return {
    name: "lean-ink",
    transform(code, id) {
      if (dirname(id) !== folder || !files.includes(relative(folder, id))) return null;
      if (!code.includes(forDevelopers)) {
        throw new Error(`${relative(root, id)} has no longer: ${forDevelopers}`);
      }
      return code.replaceAll(forDevelopers, "false");
    },
  };
}
