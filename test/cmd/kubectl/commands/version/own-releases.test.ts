import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { releasesLine } from "../../../../../cmd/kubectl/commands/version/own-releases.ts";
import { openReleases } from "../../../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../../../cmd/release-files.ts";
import { plainCopy } from "../../../plain-copy.ts";
import { runKnfleet } from "../../run-knfleet.ts";
import { runText } from "../../run-text.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-own-releases-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function shown(dir: string): Promise<unknown> {
  const env = { KNFLEET_RELEASE_DIR: dir };
  const { stdout, exitCode } = await runText(["version", "--client", "-o", "json"], { env });
  expect(exitCode).toBe(0);
  return JSON.parse(stdout);
}

describe("version", () => {
  test("names the folder of the release files and all that it holds", async () => {
    const sample = await openReleases(sampleDirOf());
    const versions = {
      KnativeServing: sample.versionsOf("KnativeServing"),
      KnativeEventing: sample.versionsOf("KnativeEventing"),
    };
    const releases = { folder: sampleDirOf(), ...versions, problem: null };
    expect(await shown(sampleDirOf())).toMatchObject({ summary: { client: { releases } } });
    const line = ["version", "--client", "--release-dir", sampleDirOf()];
    const { stdout } = await runText(line);
    const { KnativeServing: serving, KnativeEventing: eventing } = versions;
    expect(stdout).toContain(
      `Release Files: ${sampleDirOf()} (Serving ${serving.join(", ")}; Eventing ${eventing.join(", ")})\n`,
    );
  });

  test("tells one kind where the folder holds only one", () => {
    const found = { folder: "/r", KnativeServing: [], KnativeEventing: ["1.23.0"], problem: null };
    expect(releasesLine(found)).toBe("Release Files: /r (Eventing 1.23.0)");
  });

  test.each([
    { name: "no-such-folder", what: "does not exist" },
    { name: "empty", what: "holds no version of knative-serving or knative-eventing" },
  ])("says that a folder $what", async ({ name, what }) => {
    await mkdir(join(folder, "empty"), { recursive: true });
    const dir = join(folder, name);
    const problem = `Release directory ${dir}, which KNFLEET_RELEASE_DIR names, ${what}`;
    const releases = { folder: null, KnativeServing: [], KnativeEventing: [], problem };
    expect(await shown(dir)).toMatchObject({ summary: { client: { releases } } });
  });

  test("says that there are none on this machine, asks nobody for them and copies none", async () => {
    // A download would end the test with another message: nobody listens there.
    await using copy = await plainCopy(1);
    const args = [copy.path("cmd/kubectl-knfleet.ts"), "version", "--client"];
    const { stdout, exitCode } = await runKnfleet(args, {
      command: process.execPath,
      env: { ...copy.env, KNFLEET_RELEASE_MIRROR: folder },
    });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^Release Files: <none> \(Knative's release files are not on this machine: \d+ files are not in .*\/cache\/releases-\w+\)$/m,
    );
  });
});
