import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

import type { Plugin } from "rolldown";

/** What stands for package.json in a bundle: nothing but these fields is read there. */
const packageFields = ["name", "version"];

const workerPattern = /new URL\(\s*"([\w-]+)\.ts",\s*import\.meta\.url\s*\)/g;
const rootPattern = /(?:join|resolve)\(import\.meta\.dirname, "\.\."/g;

/**
 * Keeps true in a bundle what source files say about their own place. Chunks lie one folder below the package, as the files of `cmd/` lie below the
 * project: `import.meta.dirname` with `..` stays right for them, and the file of a thread is emitted beside the chunks under its own name. Throws for
 * any other use of `import.meta` in a file of the project.
 */
export function placesPlugin(root: string): Plugin {
  return {
    name: "places",
    load(id) {
      if (id !== join(root, "package.json")) return null;
      const whole: unknown = JSON.parse(readFileSync(id, "utf8"));
      const entries = Object.entries(typeof whole === "object" && whole !== null ? whole : {});
      const kept = entries.filter(([name]) => packageFields.includes(name));
      return { code: JSON.stringify(Object.fromEntries(kept)), moduleType: "json" };
    },
    transform(code, id) {
      const isOwn = id.startsWith(`${root}/`) && !id.includes("/node_modules/");
      if (!isOwn || !code.includes("import.meta")) return null;
      const rest = code.replaceAll(workerPattern, "").replaceAll(rootPattern, "");
      const depth = relative(root, id).split("/").length - 1;
      if (rest.includes("import.meta.") || (depth !== 1 && rootPattern.test(code))) {
        throw new Error(`${relative(root, id)} asks for its own place in a way no bundle keeps`);
      }
      return code.replaceAll(workerPattern, (_, name: string) => {
        const file = join(dirname(id), `${name}.ts`);
        if (!existsSync(file)) throw new Error(`${relative(root, id)} starts no file: ${file}`);
        this.emitFile({ type: "chunk", id: file, fileName: `chunks/${basename(name)}.js` });
        return `new URL("${name}.js", import.meta.url)`;
      });
    },
  };
}
