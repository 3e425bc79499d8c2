#!/usr/bin/env node
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import * as nodeModule from "node:module";
import { join, resolve } from "node:path";

// Any Node of the machine may read this file. package.json says the same under `engines`.
const oldest = [24, 12] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  const wanted = `Node ${oldest.join(".")} or newer`;
  process.stderr.write(
    `Error: kubectl knfleet needs ${wanted}; the \`node\` on the PATH is ${process.versions.node}\n${hintOfCheckout()}`,
  );
  process.exitCode = 2;
} else {
  // In a folder of the user: the shared folder for temporary files may hold code of somebody else.
  const { XDG_CACHE_HOME: cache = "", HOME: home = "" } = process.env;
  const base = cache === "" ? home && join(home, ".cache") : cache;
  const folders = [base, join(base, "knfleet"), join(base, "knfleet", "node")] as const;
  if (base !== "" && folders.every(isFolder)) nodeModule.enableCompileCache(folders[2]);
  await (await import("./kubectl/run-plugin.ts")).runPlugin();
}

/** How to start the result of `npm run build` in a checkout: with the Node of its dependencies. */
function hintOfCheckout(): string {
  // kubectl may find the program through a link.
  const folder = resolve(realpathSync(process.argv[1] ?? "."), "../../node_modules/.bin");
  if (!existsSync(join(folder, "node"))) return "";
  const quoted = `'${folder.replaceAll("'", String.raw`'\''`)}'`;
  return `The checkout has a newer one. Put it first, and run the command again:\n  export PATH=${quoted}:"$PATH"\n`;
}

/** Creates only the last folder of the path. Node itself would create a missing home folder, and tries for ever below /proc. */
function isFolder(path: string): boolean {
  try {
    if (!existsSync(path)) mkdirSync(path, 0o700);
    return true;
  } catch {
    return false;
  }
}
