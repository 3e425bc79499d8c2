import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { FleetError } from "../../api/errors.ts";
import { ensureReleases, findMirror } from "../../cmd/release-files.ts";
import { hasImageTools } from "../image/image-tools.ts";

/** What tests may need and a machine may lack, as a tag of Vitest. Tests with the tag are left out where `skip` is set. */
export interface Need {
  readonly name: string;
  /** End of the sentence `3 tests need …`, which the count reporter prints. */
  readonly description: string;
  /** Absent where the need is met: of several tags of a file the last one that says anything counts. */
  readonly skip?: true;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The checkout. */
export const projectRoot = resolve(import.meta.dirname, "../..");

/** Upstream's recorded objects, which are beside the checkout of the people who recorded them. */
export const recordingsDir = resolve(projectRoot, "../shared");

/** Whether the tests of a file need Knative's release files: those of a whole file do, or none. */
export async function isTagged(testFile: string): Promise<boolean> {
  return /^\/\/ @module-tag release-files$/mu.test(await readFile(testFile, "utf8"));
}

/**
 * The needs of all tests, looked up once for a run. Nothing is downloaded: `npm test` has tried that, and says in KNFLEET_RELEASES_PROBLEM why
 * it failed. Throws FleetError when KNFLEET_RELEASE_MIRROR names a folder that does not have the release files.
 */
export async function needsOfTests(environment: Environment, root = projectRoot): Promise<Need[]> {
  const problem = await releasesProblem(environment, root);
  return [
    {
      name: "release-files",
      description: `Knative's release files, ${problem ?? "which are here"}`,
      ...(problem === undefined ? {} : { skip: true }),
    },
    {
      name: "recordings",
      description: "recorded objects of upstream, which are not part of the project (../shared)",
      ...(existsSync(join(root, "../shared/vectors/render")) ? {} : { skip: true }),
    },
    {
      name: "namespaces",
      description: "network and mount namespaces of their own (Linux with unshare, mount and ip)",
      ...(hasNamespaces(environment) ? {} : { skip: true }),
    },
    {
      name: "image",
      description:
        "a build of the image (Debian's programs for it, which `npm test` and `npm run image` get for root on Debian)",
      ...(hasImageTools(environment) ? {} : { skip: true }),
    },
  ];
}

/** Whether this user may make the namespaces in which test/fleet/ocm plays pods. */
function hasNamespaces({ PATH = "" }: Environment): boolean {
  const made = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork"];
  const line = [...made, "ip", "link", "set", "lo", "up"];
  return spawnSync("unshare", line, { env: { PATH }, stdio: "ignore" }).status === 0;
}

async function releasesProblem(
  environment: Environment,
  root: string,
): Promise<string | undefined> {
  try {
    const fetches = (await findMirror(environment, root)) !== undefined;
    await ensureReleases({ environment, root, fetches }, AbortSignal.timeout(120_000));
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError) || isSet(environment["KNFLEET_RELEASE_MIRROR"])) throw error;
    const problem = environment["KNFLEET_RELEASES_PROBLEM"];
    if (isSet(problem)) return `which could not be downloaded: ${problem}`;
    return `which are not on this machine (\`npm run releases\` downloads them): ${error.message}`;
  }
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
