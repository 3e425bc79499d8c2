import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { contentOf, noDigest, renderedDigest } from "../../render/content.ts";

const kourier = { version: "1.22", ingress: { kourier: { enabled: true } } };
const kind = "KnativeServing";
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-content-"));
  await cp(sampleDirOf(), folder, { recursive: true });
});
afterAll(() => rm(folder, { recursive: true }));

describe("the content of a component", () => {
  test("is the same in another folder with the same files, on another cluster, and whatever is installed", async () => {
    const releases = await openReleases(sampleDirOf());
    const clusterProfileRef = { namespace: "fleet", name: "a" };
    const content = await contentOf({ kind, spec: kourier }, releases, {});
    const elsewhere = { kind, spec: { ...kourier, clusterProfileRef } } as const;
    expect(await contentOf(elsewhere, await openReleases(folder), {})).toEqual(content);
    expect(content).toEqual({
      spec: expect.stringMatching(/^[0-9a-f]{10}$/),
      rendered: expect.stringMatching(/^[0-9a-f]{10}$/),
    });
  });

  test("changes with a file that is used, also with one that is kept by minor, and with no other", async () => {
    const digest = async (spec: typeof kourier) =>
      await renderedDigest({ kind, spec }, await openReleases(folder), {});
    const [before, other] = [await digest(kourier), await digest({ ...kourier, version: "1.23" })];
    const path = join(folder, "ingress/1.22/kourier/kourier.yaml");
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace(/image: \S+/, "image: registry.example.com/changed"));
    expect(await digest(kourier)).not.toBe(before);
    expect(await digest({ ...kourier, version: "1.23" })).toBe(other);
  });

  test("does not depend on manifests of the user, and there is none where these replace the release or nothing can be rendered", async () => {
    const releases = await openReleases(sampleDirOf());
    const own = [{ URL: "https://example.com/own.yaml" }];
    const of = (spec: object) => renderedDigest({ kind, spec }, releases, {});
    expect(await of({ ...kourier, additionalManifests: own })).toBe(await of(kourier));
    expect(await of({ ...kourier, manifests: own })).toBe(noDigest);
    expect(await of({ ...kourier, version: "1.99.0" })).toBe(noDigest);
  });
});
