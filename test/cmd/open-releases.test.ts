import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";

const object = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`;

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "knfleet-release-"));
});

afterEach(async () => {
  await rm(dir, { recursive: true });
});

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
}

async function load(part = "knative-serving/1.0.0") {
  const releases = await openReleases(dir);
  return releases.load(part);
}

describe("a release directory", () => {
  test("lists the versions of each kind, newest first", async () => {
    await write({
      "knative-serving/1.9.0/a.yaml": object("a"),
      "knative-serving/1.10.0/a.yaml": object("a"),
      "knative-serving/latest/a.yaml": object("a"),
    });
    const releases = await openReleases(dir);
    expect(releases.versionsOf("KnativeServing")).toEqual(["1.10.0", "1.9.0", "latest"]);
    expect(releases.versionsOf("KnativeEventing")).toEqual([]);
  });
});

describe("a part of a release", () => {
  test("is read in the order of file names; other files and folders are left alone", async () => {
    await write({
      "knative-serving/1.0.0/2-b.yaml": `${object("c")}---\n${object("d")}`,
      "knative-serving/1.0.0/1-a.yml": `---\n${object("a")}---\n# nothing\n---\n${object("b")}---\n`,
      "knative-serving/1.0.0/notes.txt": "not: [yaml",
      "knative-serving/1.0.0/more.yaml/a.yaml": object("hidden"),
    });
    const names = (await load()).map(({ metadata }) => metadata.name);
    expect(names).toEqual(["a", "b", "c", "d"]);
  });

  test("is frozen all the way down, parsed once, and not shared with another part", async () => {
    const releases = await openReleases(sampleDirOf());
    const [first, again] = await Promise.all([
      releases.load("knative-serving/1.23.0"),
      releases.load("knative-serving/1.23.0"),
    ]);
    expect(again).toBe(first);
    expect(first.length).toBeGreaterThan(0);
    expect(first.filter((manifest) => !isDeepFrozen(manifest))).toEqual([]);
    const older = await releases.load("knative-serving/1.22.0");
    expect(older.map(({ metadata }) => metadata.name)).toContain("config-retired");
  });

  test("may leave the name of a Job to be made", async () => {
    const text = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}\n";
    await write({ "knative-serving/1.0.0/a.yaml": text });
    await expect(load()).resolves.toMatchObject([{ metadata: { generateName: "a-" } }]);
  });

  test("holds a document that comes twice once", async () => {
    const releases = await openReleases(sampleDirOf());
    const crds = (await releases.load("knative-serving/1.23.0")).filter(
      ({ kind }) => kind === "CustomResourceDefinition",
    );
    expect(crds).toHaveLength(12);
    expect(new Set(crds.map(({ metadata }) => metadata.name)).size).toBe(12);
  });

  test("may define an anchor again and merge with a tag", async () => {
    const releases = await openReleases(sampleDirOf());
    const webhook = (await releases.load("knative-serving/1.23.0")).find(
      ({ kind, metadata }) => kind === "Deployment" && metadata.name === "webhook",
    );
    expect(webhook).toMatchObject({
      metadata: { labels: { "app.kubernetes.io/version": "1.23.0" } },
      spec: {
        template: {
          metadata: { labels: { app: "webhook" } },
          spec: {
            containers: [
              { livenessProbe: { periodSeconds: 10, httpGet: { path: "/health", port: 8443 } } },
            ],
          },
        },
      },
    });
  });

  test.each(["knative-serving/9.9.9", "../secret", "knative-serving/../../x", "/etc", "", "a//b"])(
    "named %j is not found",
    async (part) => {
      await write({ "knative-serving/1.0.0/a.yaml": object("a") });
      await expect(load(part)).rejects.toMatchObject({ reason: "ReleaseNotFound" });
    },
  );

  test.each([
    ["ingress/1.0/istio", "it has kourier in ingress/1.0"],
    ["ingress/2.0/istio", "it has nothing in ingress/2.0"],
    ["security-guard/0.6", "it has nothing in security-guard"],
    ["eventing-source/1.0/kafka", "it has github, redis in eventing-source/1.0"],
  ])("without the part %s has the reason of a part, and says what it has", async (part, has) => {
    await write({
      "knative-serving/1.0.0/a.yaml": object("a"),
      "ingress/1.0/kourier/a.yaml": object("a"),
      "eventing-source/1.0/redis/a.yaml": object("a"),
      "eventing-source/1.0/github/a.yaml": object("a"),
    });
    await expect(load(part)).rejects.toMatchObject({
      reason: "ReleasePartNotFound",
      message: `The release directory holds no ${part}; ${has}`,
    });
  });

  test.each([
    { name: "broken YAML", text: "a: [", message: /document 1 is not valid YAML/ },
    { name: "a repeated field", text: "kind: A\nkind: B", message: /not valid YAML/ },
    { name: "a scalar", text: "hello", message: /not a Kubernetes object/ },
    { name: "a list", text: "- a", message: /not a Kubernetes object/ },
    { name: "no kind", text: "apiVersion: v1\nmetadata: {name: a}", message: /not a Kubernetes/ },
    { name: "no name", text: "apiVersion: v1\nkind: A\nmetadata: {}", message: /with a name/ },
    {
      name: "a generated name that is not a Job's",
      text: "apiVersion: v1\nkind: A\nmetadata: {generateName: a-}",
      message: /with a name/,
    },
    {
      name: "a generated name of a Job that is not Kubernetes' own",
      text: "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {generateName: a-}",
      message: /with a name/,
    },
    { name: "nothing at all", text: "# empty\n---\n", message: /no object/ },
    {
      name: "more aliases than any release has",
      text: `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [${"*a,".repeat(20)}]\nc: [${"*b,".repeat(20)}]\n`,
      message: /not valid YAML/,
    },
  ])("with $name is invalid", async ({ text, message }) => {
    await write({ "knative-serving/1.0.0/a.yaml": text });
    await expect(load()).rejects.toMatchObject({
      reason: "ManifestInvalid",
      message: expect.stringMatching(message),
    });
  });

  test("is read again after a failure", async () => {
    await write({ "knative-serving/1.0.0/a.yaml": "a: [" });
    const releases = await openReleases(dir);
    await expect(releases.load("knative-serving/1.0.0")).rejects.toThrow("not valid YAML");
    await write({ "knative-serving/1.0.0/a.yaml": object("a") });
    await expect(releases.load("knative-serving/1.0.0")).resolves.toHaveLength(1);
  });
});

describe("links", () => {
  test("inside the directory are followed", async () => {
    await write({ "data/a.yaml": object("a") });
    await mkdir(join(dir, "knative-serving/1.0.0"), { recursive: true });
    await symlink(join(dir, "data/a.yaml"), join(dir, "knative-serving/1.0.0/a.yaml"));
    await expect(load()).resolves.toHaveLength(1);
  });

  test("T-35 that lead out of it are refused, for files and for folders", async () => {
    const outside = await mkdtemp(join(tmpdir(), "knfleet-outside-"));
    await writeFile(join(outside, "a.yaml"), object("a"));
    await mkdir(join(dir, "knative-serving/1.0.0"), { recursive: true });
    await symlink(join(outside, "a.yaml"), join(dir, "knative-serving/1.0.0/a.yaml"));
    await symlink(outside, join(dir, "knative-serving/2.0.0"));
    const refused = { reason: "ManifestInvalid", message: expect.stringContaining("leads out") };
    await expect(load()).rejects.toMatchObject(refused);
    await expect(load("knative-serving/2.0.0")).rejects.toMatchObject(refused);
    await rm(outside, { recursive: true });
  });
});

function isDeepFrozen(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeepFrozen);
}
