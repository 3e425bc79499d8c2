import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

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

/** The generated file's text: the script, for a browser, and the style. Equal sources give equal text. */
export async function pageText(): Promise<string> {
  const style = await readFile(join(project, "cmd/kubectl/page/browser/style.css"), "utf8");
  const script = await scriptText();
  if (/<\/script|<!--/i.test(script)) throw new Error("The script would end inside its element");
  return `/** The script of the page. Made by \`npm run ui-page\` from the sources beside this file. */
export const pageScript = ${JSON.stringify(script)};

/** The style of the page. */
export const pageStyle = ${JSON.stringify(style.replaceAll(/\s*\n\s*/g, "\n"))};
`;
}

async function scriptText(): Promise<string> {
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
    return chunk.code.trim();
  } finally {
    await build.close();
  }
}

if (import.meta.main) {
  await runGenerator(usage, async (onlyCheck) => {
    const text = await pageText();
    const path = join(project, pagePath);
    const found = await readFile(path, "utf8").catch(() => undefined);
    if (found === text) return "The page is up to date";
    if (onlyCheck) throw new Error(`Out of date, run npm run ui-page: ${pagePath}`);
    await writeFile(path, text);
    return `Wrote ${pagePath}`;
  });
}
