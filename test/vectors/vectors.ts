import { resolve } from "node:path";
import { parseArgs } from "node:util";

import { releaseDir } from "../e2e/release-dir.ts";
import { accessCases } from "./access-cases.ts";
import { runAccessVectors } from "./access-report.ts";
import { renderVectors } from "./render-cases.ts";
import { runRenderVectors } from "./render-report.ts";
import { runSectionRows } from "./row-report.ts";
import { sectionRows } from "./section-rows.ts";
import { type FolderResult, totalLine, type Verdict, verdictLines } from "./verdict.ts";

const usage = `Usage: npm run vectors -- [--render DIR] [--access DIR] [--only TEXT] [--quiet]

Runs recorded facts about upstream against this project, and the tests that carry a number of section 8 of the specification of
the credential path: one line per vector, a total per folder; exit code 1 when one is wrong.
  --render DIR   another folder in the format of ../shared/vectors/render
  --access DIR   another folder in the format of test/vectors/recorded/access
  --only TEXT    only the vectors whose name contains it
  --quiet        only what is wrong, and the totals`;

interface Options {
  /** Folder by kind of vector; a kind that is not named runs on its shared folder, unless another one is named. */
  readonly folders: Readonly<Partial<Record<Kind, string>>>;
  readonly only: string;
  readonly quiet: boolean;
}

/** How the vectors of one kind are run: undefined where there are none. */
type Runner = (
  folder: string | undefined,
  select: (name: string) => boolean,
  report: (verdict: Verdict) => void,
) => Promise<FolderResult | undefined>;

const runners = {
  render: async (folder, select, report) => {
    const vectors = await renderVectors(folder);
    if (vectors === undefined) return undefined;
    const cases = vectors.cases.filter(({ name }) => select(name));
    return runRenderVectors({ ...vectors, cases }, await releaseDir(), report);
  },
  access: async (folder, select, report) => {
    const cases = await accessCases(folder);
    const selected = cases.filter(({ name }) => select(name));
    return runAccessVectors(selected, report, new AbortController().signal);
  },
  "section-8": (_folder, select, report) =>
    runSectionRows(
      sectionRows.filter((row) => select(`section-8/${row}`)),
      report,
    ),
} as const satisfies Readonly<Record<string, Runner>>;

type Kind = keyof typeof runners;

const kinds = ["render", "access", "section-8"] as const satisfies readonly Kind[];

function optionsOf(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      render: { type: "string" },
      access: { type: "string" },
      only: { type: "string", default: "" },
      quiet: { type: "boolean", short: "q", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  const { only, quiet, render, access } = values;
  return {
    only,
    quiet,
    folders: {
      ...(render === undefined ? {} : { render: resolve(render) }),
      ...(access === undefined ? {} : { access: resolve(access) }),
    },
  };
}

async function run({ folders, only, quiet }: Options): Promise<boolean> {
  const named = Object.keys(folders).length > 0;
  let inFolder = new Map<string, Record<Verdict["kind"], number>>();
  const report = (verdict: Verdict): void => {
    const [folder = "", name] = verdict.name.split("/");
    if (name !== undefined) {
      const counts = inFolder.get(folder) ?? { equal: 0, different: 0, wrong: 0 };
      counts[verdict.kind] += 1;
      inFolder.set(folder, counts);
    }
    if (!quiet || verdict.kind === "wrong") process.stdout.write(verdictLines(verdict));
  };
  const totals: string[] = [];
  let isRight = true;
  for (const kind of kinds) {
    const folder = folders[kind];
    if (named && folder === undefined) continue;
    inFolder = new Map();
    const result = await runners[kind](folder, (name) => name.includes(only), report);
    if (result === undefined) {
      totals.push(`${kind}: no vectors in ${folder ?? "the shared folder"}\n`);
      isRight = false;
      continue;
    }
    // The access vectors lie in folders by what they are about.
    if (inFolder.size > 1) {
      totals.push(...[...inFolder].map(([name, counts]) => totalLine(`${kind}/${name}`, counts)));
    }
    totals.push(totalLine(kind, result));
    isRight &&= result.wrong === 0;
  }
  process.stdout.write(`\n${totals.join("")}`);
  return isRight;
}

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough, such as `head`.
  if (error.code === "EPIPE") process.exit();
  throw error;
});

try {
  const options = optionsOf(process.argv.slice(2));
  if (options === undefined) process.stdout.write(`${usage}\n`);
  else if (!(await run(options))) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
  process.exitCode = 2;
}
