import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { FleetError } from "../api/errors.ts";
import type { ReleaseProgress } from "./fill-releases.ts";
import { checkReleases, ensureReleases, findMirror } from "./release-files.ts";
import { lockOf } from "./release-lock.ts";
import { explained, runCommand } from "./service/run.ts";

const usage = `Usage: npm run releases -- [options]

Fills a directory with the Knative releases of releases.lock.json and verifies every byte.

  --release-dir DIR     directory to fill (default: a folder of the cache)
  --check               only say what is missing or wrong
  --write-lock COMMIT   write releases.lock.json from the local mirror, which holds that commit
  --help

The files come from KNFLEET_RELEASE_MIRROR, else ../shared/manifests where it exists, else their public source.
The cache is KNFLEET_CACHE_DIR, else XDG_CACHE_HOME/knfleet, else ~/.cache/knfleet.
`;

const environment = process.env;
const root = resolve(import.meta.dirname, "..");

await runCommand(async (signal) => {
  try {
    await runReleases(signal);
    return 0;
  } catch (error) {
    const text = signal.aborted ? "Interrupted; run it again to go on" : explained(error);
    process.stderr.write(`Error: ${text}\n`);
    return 1;
  }
});

async function runReleases(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      "release-dir": { type: "string" },
      check: { type: "boolean", default: false },
      "write-lock": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const given = values["release-dir"];
  if (given === "") throw new FleetError("ConfigInvalid", "--release-dir is empty");
  const dir = given === undefined ? {} : { dir: resolve(given) };
  if (values.help) process.stdout.write(usage);
  else if (values["write-lock"] !== undefined) await writeLock(values["write-lock"]);
  else if (values.check) await check(dir);
  else await fill(dir, signal);
}

async function fill(dir: { readonly dir?: string }, signal: AbortSignal): Promise<void> {
  const options = { ...dir, environment, onProgress: report, onSlow: sayLine };
  const ensured = await ensureReleases(options, signal);
  process.stdout.write(`Release files are complete and verified: ${ensured.dir}\n`);
}

async function check(dir: { readonly dir?: string }): Promise<void> {
  const checked = await checkReleases({ ...dir, environment });
  for (const problem of checked.problems) process.stderr.write(`${problem}\n`);
  if (checked.problems.length > 0) {
    throw new Error(`${checked.problems.length} release files are not right in ${checked.dir}`);
  }
  process.stdout.write(`Release files are complete and verified: ${checked.dir}\n`);
}

async function writeLock(commit: string): Promise<void> {
  const mirror = await findMirror(environment);
  if (mirror === undefined) throw new FleetError("ConfigInvalid", "There is no local mirror");
  const lock = await lockOf(mirror, {
    repository: "https://github.com/knative/operator",
    commit,
    raw: "https://raw.githubusercontent.com/knative/operator",
  });
  await writeFile(join(root, "releases.lock.json"), `${JSON.stringify(lock, null, 2)}\n`);
  process.stdout.write(`Wrote releases.lock.json: ${lock.files.length} files\n`);
}

function sayLine(line: string): void {
  process.stderr.write(`${line}\n`);
}

function report({ source, path, done, total }: ReleaseProgress): void {
  const line = `${source === "mirror" ? "Copied" : "Downloaded"} ${done}/${total} ${path}`;
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${done === total ? "" : line}`);
  else if (done === total || done % 25 === 0) process.stderr.write(`${line}\n`);
}
