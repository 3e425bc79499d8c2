import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { reasons } from "../../../../api/reasons.ts";
import { notCompared } from "../../../../cmd/kubectl/bundle/bundle.ts";
import { component } from "../fleet-facts.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { reviews } from "../reviews.ts";
import { runText } from "../run-text.ts";
import { startStubHub, type StubHub } from "../stub-hub.ts";
import { answersTables } from "../stub-tables.ts";

const eventing = component({ kind: "KnativeEventing", cluster: null, wanted: "1.23" });
const nowhere = "/no-such-folder/of-releases";
const why =
  "Release directory /no-such-folder/of-releases, which --release-dir names, does not exist";

let hub: StubHub;
let folder: string;
beforeAll(async () => {
  const objects = [eventing];
  const [tables, mayAll] = [answersTables(objects), reviews(() => true)];
  hub = await startStubHub(objects, (request) => tables(request) ?? mayAll(request));
  folder = await mkdtemp(join(tmpdir(), "knfleet-without-diff-"));
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function gather(name: string, ...args: readonly string[]) {
  const file = join(folder, name);
  const line = ["gather", "-A", "--tail", "0", "-o", file, "--release-dir", nowhere, ...args];
  return runText(line, { env: hub.env });
}

function diffOf(name: string) {
  return runText(["diff", "-A", "--bundle", join(folder, name)]);
}

describe("a bundle without a diff", () => {
  test("that was gathered without --diff says so, and wants no release files", async () => {
    const gathered = await gather("plain.tgz");
    expect(gathered.stderr).not.toContain(nowhere);
    const { stderr, exitCode } = await diffOf("plain.tgz");
    expect(stderr).toContain("error: The bundle holds no diff: it was gathered without --diff\n");
    expect(stderr).toContain("next: kubectl knfleet gather -A --diff\n");
    expect(exitCode).toBe(2);
  });

  test("says why gather could not compare, when it is gathered and when it is read", async () => {
    const gathered = await gather("failed.tgz", "--diff");
    expect(gathered.stderr).toContain(`The clusters were not compared: ${why}`);
    expect(gathered.stderr).toContain(reasons.ConfigInvalid.next);
    expect(gathered.exitCode).toBe(3);
    const { stderr, exitCode } = await diffOf("failed.tgz");
    expect(stderr).toContain(
      `error: The bundle holds no diff, because gather could not compare: ${why}\n`,
    );
    expect(stderr).toContain(reasons.ConfigInvalid.next);
    expect(stderr).toContain("kubectl knfleet gather -A --diff\n");
    expect(exitCode).toBe(2);
  });

  test.each([[[]], [["--diff"]]])(
    "still says so when it is gathered again with %j",
    async (more) => {
      const from = join(folder, `said${more.length}`);
      await cp(join(recordedFolder, "broken"), from, { recursive: true });
      const index = join(from, "bundle.json");
      const { errors, ...rest } = JSON.parse(await readFile(index, "utf8"));
      const error = { reason: "ConfigInvalid", message: `${notCompared}${why}`, cluster: null };
      await writeFile(index, JSON.stringify({ ...rest, errors: [...errors, error] }));
      const again = `again${more.length}.tgz`;
      const { stderr } = await gather(again, ...more, "--bundle", from);
      expect(stderr).toContain(`${notCompared}${why}`);
      expect((await diffOf(again)).stderr).toContain(
        `error: The bundle holds no diff, because gather could not compare: ${why}\n`,
      );
    },
  );

  test("is told apart from one with a diff of another form", async () => {
    const from = join(folder, "newer");
    await cp(join(recordedFolder, "broken"), from, { recursive: true });
    const newer = { apiVersion: "knfleet.dev/v9", kind: "DiffList" };
    await writeFile(join(from, "diff.json"), JSON.stringify(newer));
    const { stderr } = await diffOf("newer");
    expect(stderr).toContain("is of a version that this kubectl knfleet cannot read\n");
  });

  test("of a bundle that was gathered without one is not made by --diff", async () => {
    const { stderr, exitCode } = await gather(
      "more.tgz",
      "--diff",
      "--bundle",
      join(recordedFolder, "broken"),
    );
    expect(stderr).toContain("The clusters were not compared: The bundle holds no diff: it was");
    expect(exitCode).toBe(3);
  });

  test("is not asked for where no cluster is reached", async () => {
    const { stderr, exitCode } = await gather("none.tgz", "--diff", "--no-live");
    expect(stderr).toContain("error: --diff compares clusters, and --no-live reaches none\n");
    expect(exitCode).toBe(2);
  });
});
