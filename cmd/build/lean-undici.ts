import { join, relative } from "node:path";

import type { Plugin } from "rolldown";

/** What `access/` takes of undici, and the file of undici that it comes from. */
const parts: Readonly<Record<string, string>> = {
  Agent: "./lib/dispatcher/agent.js",
  Pool: "./lib/dispatcher/pool.js",
  buildConnector: "./lib/core/connect.js",
};

/**
 * Two files of undici that load `node:http`, and with it the fetch that is inside of Node, for one name each: Node's default limit of headers, and the class of
 * bodies that are answers of `node:http`, of which nobody here has any. And one that has 16 kB for each connection ready for requests that wait for it, of which
 * it takes more where it needs more.
 */
const rewritten: Readonly<Record<string, readonly [from: string, to: string]>> = {
  "lib/dispatcher/client.js": [
    "const http = require('node:http')",
    "const http = { maxHeaderSize: 16 * 1024 }",
  ],
  "lib/core/util.js": [
    "const { IncomingMessage } = require('node:http')",
    "const IncomingMessage = null",
  ],
  "lib/dispatcher/fixed-queue.js": ["const kSize = 2048", "const kSize = 64"],
};

const imports = /^import (type )?\{([^}]*)\} from "undici";$/gm;

/**
 * Loads of undici only what `access/` uses, without fetch, caches, mocks and WebSockets: that is a quarter of the time in which a command starts. Other
 * packages get all of it. Throws when `access/` imports something else, or when undici has changed.
 */
export function leanUndiciPlugin(root: string): Plugin {
  const undici = join(root, "node_modules/undici");
  const lean = join(undici, "lean.js");
  const isOurs = (id: string): boolean => id.startsWith(join(root, "access/"));
  return {
    name: "lean-undici",
    resolveId: (source, importer) =>
      source === "undici" && importer !== undefined && isOurs(importer) ? lean : null,
    load: (id) => (id === lean ? { code: leanIndex(), moduleType: "js" } : null),
    transform(code, id) {
      if (isOurs(id)) refuseOthers(code, relative(root, id));
      const change = rewritten[relative(undici, id)];
      if (change === undefined) return null;
      const [from, to] = change;
      if (!code.includes(from)) throw new Error(`${relative(root, id)} has no longer: ${from}`);
      return code.replace(from, to);
    },
  };
}

function leanIndex(): string {
  const lines = Object.entries(parts).map(([name, file]) => {
    return `exports.${name} = require("${file}");`;
  });
  // As undici's index does.
  const dispatcher = 'require("./lib/dispatcher/dispatcher.js").prototype';
  return [...lines, `Object.assign(${dispatcher}, require("./lib/api/index.js"));`].join("\n");
}

function refuseOthers(code: string, file: string): void {
  for (const [, type, names = ""] of code.matchAll(imports)) {
    const values = names.split(",").map((name) => name.trim());
    const missing = values.filter(
      (name) => name !== "" && !name.startsWith("type ") && !(name in parts),
    );
    if (type === undefined && missing.length > 0) {
      throw new Error(
        `${file} imports ${missing.join(", ")}, which cmd/build/lean-undici.ts lacks`,
      );
    }
  }
}
