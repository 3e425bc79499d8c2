import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

import { rolldown } from "rolldown";

import { runGenerator } from "./run-program.ts";

const usage = `Usage: npm run ui-page [-- --check]

Writes script and style of the page of \`kubectl knfleet ui\` as text, from cmd/kubectl/page. They are text in a file of the program, because the program may be one executable.

  --check   only say whether they are up to date; exit code 1 when they are not
  --help
`;

const project = join(import.meta.dirname, "../..");

/** The generated file, relative to the project. */
export const pagePath = "cmd/kubectl/page/page-text.ts";

/** The generated file. */
export interface Page {
  /** The script, for a browser, and the style. Equal sources give equal text. */
  readonly text: string;
  /** Source files with code in the script, relative to the project. */
  readonly modules: readonly string[];
}

/** Makes the generated file from its sources. */
export async function makePage(): Promise<Page> {
  const style = await readFile(join(project, "cmd/kubectl/page/browser/style.css"), "utf8");
  const { script, modules } = await makeScript();
  if (/<\/script|<!--/i.test(script)) throw new Error("The script would end inside its element");
  const text = `/** The script of the page. Made by \`npm run ui-page\` from the sources beside this file. */
export const pageScript = ${JSON.stringify(script)};

/** The style of the page. */
export const pageStyle = ${JSON.stringify(style.replaceAll(/\s*\n\s*/g, "\n"))};
`;
  return { text, modules };
}

async function makeScript(): Promise<{
  readonly script: string;
  readonly modules: readonly string[];
}> {
  const build = await rolldown({
    cwd: project,
    input: "cmd/kubectl/page/browser/main.ts",
    platform: "browser",
  });
  try {
    const { output } = await build.generate({
      format: "iife",
      minify: true,
      comments: false,
      codeSplitting: false,
    });
    const [chunk, ...others] = output;
    if (others.length > 0) throw new Error("The script is no single file");
    const modules = Object.keys(chunk.modules).map((id) => relative(project, id));
    return { script: chunk.code.trim(), modules };
  } finally {
    await build.close();
  }
}

if (import.meta.main) {
  await runGenerator(usage, async (onlyCheck) => {
    const { text } = await makePage();
    const path = join(project, pagePath);
    const found = await readFile(path, "utf8").catch(() => undefined);
    if (found === text) return "The page is up to date";
    if (onlyCheck) throw new Error(`Out of date, run npm run ui-page: ${pagePath}`);
    await writeFile(path, text);
    return `Wrote ${pagePath}`;
  });
}
