import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import type { Releases } from "../../render/release/releases.ts";
import { render } from "../../render/render.ts";
import { serving } from "./components.ts";

const ingress = { kourier: { enabled: true } };

let dir: string;
let releases: Releases;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "knfleet-latest-"));
  const sample = sampleDirOf();
  for (const folder of ["knative-serving/1.23.0", "ingress/1.23"]) {
    await cp(join(sample, folder), join(dir, folder), { recursive: true });
  }
  // A copy of an older version, whose labels are not looked at.
  await cp(join(sample, "knative-serving/1.22.0"), join(dir, "knative-serving/latest"), {
    recursive: true,
  });
  await cp(join(sample, "ingress/1.22"), join(dir, "ingress/latest"), { recursive: true });
  releases = await openReleases(dir);
});

afterAll(async () => rm(dir, { recursive: true }));

describe("with folders called latest", () => {
  test.each([
    {
      version: "latest",
      target: "latest",
      paths: ["knative-serving/latest", "ingress/latest/kourier"],
    },
    {
      version: "LATEST",
      target: "1.23.0",
      paths: ["knative-serving/1.23.0", "ingress/1.23/kourier"],
    },
    { version: "", target: "1.23.0", paths: ["knative-serving/1.23.0", "ingress/1.23/kourier"] },
    {
      version: undefined,
      target: "1.23.0",
      paths: ["knative-serving/1.23.0", "ingress/1.23/kourier"],
    },
  ])("$version is $target", async ({ version, target, paths }) => {
    const component = serving({ ingress, version });
    expect(await render(component, releases)).toMatchObject({ version: target, paths });
  });

  test("every version may become latest, and latest every version", async () => {
    const up = serving({ ingress, version: "latest" }, { installed: "1.1.0" });
    await expect(render(up, releases)).resolves.toMatchObject({ version: "latest" });
    const down = serving({ ingress, version: "1.23.0" }, { installed: "latest" });
    await expect(render(down, releases)).resolves.toMatchObject({ version: "1.23.0" });
  });

  test("Jobs carry the word in their names", async () => {
    const { manifests } = await render(serving({ ingress, version: "latest" }), releases);
    const jobs = manifests
      .filter(({ kind }) => kind === "Job")
      .map(({ metadata }) => metadata.name);
    expect(jobs.length).toBeGreaterThan(0);
    for (const name of jobs) expect(name).toMatch(/-serving-latest$/);
  });
});
