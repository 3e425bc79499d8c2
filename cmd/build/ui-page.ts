import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";

import { rolldown } from "rolldown";

const project = join(import.meta.dirname, "../..");

/** The file that has script and style of the page, relative to the project. */
export const pagePath = "cmd/kubectl/page/page-code.ts";

/** Script and style of the page of `kubectl knfleet ui`. Equal sources give equal text. */
export interface Page {
  readonly script: string;
  readonly style: string;
  /** Source files with code in the script, relative to the project. */
  readonly modules: readonly string[];
}

/** Bundles the page for a browser from `cmd/kubectl/page/browser`. */
export async function makePage(): Promise<Page> {
  const style = await readFile(join(project, "cmd/kubectl/page/browser/style.css"), "utf8");
  await using build = await rolldown({
    cwd: project,
    input: "cmd/kubectl/page/browser/main.ts",
    platform: "browser",
    // A package and a copy of the sources have no tsconfig.json.
    tsconfig: false,
  });
  const { output } = await build.generate({
    format: "iife",
    minify: true,
    comments: false,
    codeSplitting: false,
  });
  const [chunk, ...others] = output;
  if (others.length > 0) throw new Error("The script is no single file");
  const script = chunk.code.trim();
  if (/<\/script|<!--/i.test(script)) throw new Error("The script would end inside its element");
  return {
    script,
    style: style.replaceAll(/\s*\n\s*/g, "\n"),
    modules: Object.keys(chunk.modules).map((id) => relative(project, id)),
  };
}
