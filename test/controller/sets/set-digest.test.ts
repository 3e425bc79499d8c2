import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import type { FleetSet } from "../../../api/fleet-set.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { SetDigests } from "../../../controller/sets/set-digest.ts";
import type { Releases } from "../../../render/release/releases.ts";
import { SetWorld } from "../../sets/set-world.ts";
import { emptyReleases } from "./empty-releases.ts";

const { set } = new SetWorld({}, []);
const kourier = { ingress: { kourier: { enabled: true } } };

function setWith(version: string, overrides: FleetSet["spec"]["overrides"] = []): FleetSet {
  const template = { spec: { ...kourier, version } };
  return { ...set, spec: { ...set.spec, template, overrides } };
}

/** The releases, and how often something was rendered. */
async function counted(): Promise<{ readonly releases: Releases; readonly count: () => number }> {
  const releases = await openReleases(sampleDirOf());
  return { releases, count: () => releases.rendered.size };
}

test("a set of a thousand clusters with values of their own costs one rendering, and another one for each override", async () => {
  const { releases, count } = await counted();
  const digests = new SetDigests(releases, {});
  const named = { registry: { default: "$(cluster.name)/${NAME}" } };
  const whole = setWith("1.22", [{ name: "eu", clusters: ["eu-*"], patch: named }]);
  const digest = await digests.of(whole);
  expect(digest).toMatch(/^[0-9a-f]{10}$/);
  expect(count()).toBe(2);
  expect(await digests.of({ ...whole, metadata: { ...whole.metadata, name: "other" } })).toBe(
    digest,
  );
  expect(count()).toBe(2);
});

test("the digest depends on the versions of the template and of each override", async () => {
  const digests = new SetDigests((await counted()).releases, {});
  const patch = { version: "1.21" };
  const all = await Promise.all([
    digests.of(setWith("1.22")),
    digests.of(setWith("1.22.0")),
    digests.of(setWith("1.22", [{ name: "old", clusters: ["a"], patch }])),
  ]);
  expect(new Set(all).size).toBe(3);
  // The newest patch of the folder.
  expect(await digests.of(setWith("1.22.1"))).toBe(all[0]);
});

test("the digest depends on what two overrides render only together", async () => {
  const overrides = [
    { name: "old", clusters: ["a*"], patch: { version: "1.21" } },
    {
      name: "istio",
      clusters: ["*z"],
      patch: { ingress: { istio: { enabled: true }, kourier: null } },
    },
  ];
  const folder = await mkdtemp(join(tmpdir(), "knfleet-digest-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(sampleDirOf(), folder, { recursive: true });
  const digest = async (): Promise<string | undefined> =>
    new SetDigests(await openReleases(folder), {}).of(setWith("1.22", overrides));
  const before = await digest();
  // Only a cluster with both overrides gets something of this file.
  const file = join(folder, "ingress/1.21/istio/net-istio.yaml");
  await writeFile(
    file,
    (await readFile(file, "utf8")).replaceAll("image: ", "image: mirror.example/"),
  );
  expect(await digest()).not.toBe(before);
});

test("where nothing can be rendered there is none", async () => {
  expect(
    await new SetDigests(
      emptyReleases(() => ["1.22.0"]),
      {},
    ).of(setWith("1.22")),
  ).toBeUndefined();
});
