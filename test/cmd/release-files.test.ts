import { createHash } from "node:crypto";
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { timeoutError } from "../../access/time/deadline.ts";
import type { ReleaseProgress } from "../../cmd/fill-releases.ts";
import { checkReleases, ensureReleases } from "../../cmd/release-files.ts";
import { portOf } from "../fleet/ports.ts";

const content = {
  "knative-serving/1.0.0/1-a.yaml": "kind: A\n",
  "knative-serving/1.0.0/2-b.yaml": "kind: B\n",
  "ingress/1.0/istio/c.yaml": "kind: C\n",
};
const names = Object.keys(content).toSorted();
const signal = new AbortController().signal;

let surroundings: string;
let root: string;
let dir: string;
let mirror: string;

beforeEach(async () => {
  // What stands beside a project is read, too: nothing may stand beside this one.
  surroundings = await mkdtemp(join(tmpdir(), "knfleet-releases-"));
  root = join(surroundings, "project");
  await mkdir(root);
  dir = join(root, "filled");
  mirror = join(root, "mirror");
  await writeLock("http://127.0.0.1:9");
  for (const [path, text] of Object.entries(content)) await put(join(mirror, path), text);
});

afterEach(async () => {
  await rm(surroundings, { recursive: true });
});

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

async function writeLock(base: string): Promise<void> {
  const files = Object.entries(content).map(([path, text]) => ({
    path,
    bytes: text.length,
    sha256: createHash("sha256").update(text).digest("hex"),
    url: `${base}/${path}`,
  }));
  const lock = { repository: "https://example.com/x", commit: "1", files };
  await writeFile(join(root, "releases.lock.json"), JSON.stringify(lock));
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();
}

function ensureFromMirror() {
  return ensureReleases({ root, dir, environment: { KNFLEET_RELEASE_MIRROR: mirror } }, signal);
}

function ensureFromServer(stop: AbortSignal = signal) {
  return ensureReleases({ root, dir, environment: {} }, stop);
}

describe("from a local mirror, the release directory", () => {
  test("is filled with every file and nothing else", async () => {
    expect(await ensureFromMirror()).toEqual({ dir, source: "mirror" });
    expect(await filesIn(dir)).toEqual(names);
    expect(await readFile(join(dir, names[0] ?? ""), "utf8")).toBe("kind: C\n");
  });

  test("is complete the second time", async () => {
    await ensureFromMirror();
    expect(await ensureFromMirror()).toEqual({ dir, source: "cache" });
  });

  test("is repaired; files that are right are not written again", async () => {
    await ensureFromMirror();
    const [damaged = "", lost = "", right = ""] = names;
    await writeFile(join(dir, damaged), "kind: D\n");
    await rm(join(dir, lost));
    const before = await stat(join(dir, right));
    expect(await checkReleases({ root, dir, environment: {} })).toEqual({
      dir,
      problems: [
        `${lost} is missing`,
        expect.stringMatching(new RegExp(`^${damaged} has SHA-256 [0-9a-f]{64} instead of`)),
      ],
    });
    expect(await ensureFromMirror()).toEqual({ dir, source: "mirror" });
    expect((await stat(join(dir, right))).ino).toBe(before.ino);
    expect((await checkReleases({ root, dir, environment: {} })).problems).toEqual([]);
  });

  test("is not right with a file that the lock does not list, which would be installed too", async () => {
    await ensureFromMirror();
    const foreign = join(dirname(names.find((name) => name.includes("/")) ?? ""), "zz.yaml");
    await put(join(dir, foreign), "kind: ClusterRoleBinding\n");
    expect((await checkReleases({ root, dir, environment: {} })).problems).toEqual([
      `${foreign} is not in releases.lock.json`,
    ]);
  });

  test("T-35 is not right with a link, wherever it leads, which gets a file in its place", async () => {
    await ensureFromMirror();
    const [name = ""] = names;
    const path = join(dir, name);
    const outside = join(root, "outside.yaml");
    await rename(path, outside);
    await symlink(outside, path);
    const { problems } = await checkReleases({ root, dir, environment: {} });
    expect(problems).toEqual([`${name} is a link`]);
    await ensureFromMirror();
    expect((await lstat(path)).isSymbolicLink()).toBe(false);
    expect((await checkReleases({ root, dir, environment: {} })).problems).toEqual([]);
  });

  test("is not filled with a file that is wrong, and the error says which and why", async () => {
    await put(join(mirror, "ingress/1.0/istio/c.yaml"), "kind: Changed\n");
    await expect(ensureFromMirror()).rejects.toMatchObject({
      reason: "ReleasesUnavailable",
      message: `Knative's release files are not on this machine and cannot be copied: ingress/1.0/istio/c.yaml from ${mirror}/ingress/1.0/istio/c.yaml has 14 bytes instead of 8`,
    });
    expect(await filesIn(dir).catch(() => [])).not.toContain("ingress/1.0/istio/c.yaml");
  });

  test("cannot be filled from a mirror that lacks a file or is none", async () => {
    await rm(join(mirror, "ingress"), { recursive: true });
    await expect(ensureFromMirror()).rejects.toMatchObject({ reason: "ReleasesUnavailable" });
    await rm(mirror, { recursive: true });
    await expect(ensureFromMirror()).rejects.toMatchObject({ reason: "ConfigInvalid" });
  });

  test("is no longer filled when the program is interrupted, and says how far it came when its time is over", async () => {
    const environment = { KNFLEET_RELEASE_MIRROR: mirror };
    for (const [reason, says] of [
      [new Error("interrupted"), "interrupted"],
      [timeoutError(), `the time was over when 1 of 3 files had come from ${mirror}`],
    ] as const) {
      const stop = new AbortController();
      const onProgress = () => stop.abort(reason);
      const into = join(surroundings, reason.name);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect(
        ensureReleases({ root, dir: into, environment, onProgress }, stop.signal),
      ).rejects.toThrow(says);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await filesIn(into)).toHaveLength(1);
    }
  });

  test("says what it does", async () => {
    const seen: ReleaseProgress[] = [];
    const environment = { KNFLEET_RELEASE_MIRROR: mirror };
    await ensureReleases({ root, dir, environment, onProgress: (one) => seen.push(one) }, signal);
    expect(seen.map(({ path }) => path).toSorted()).toEqual(names);
    expect(seen.at(-1)).toMatchObject({ done: 3, total: 3, source: "mirror" });
  });

  test("that cannot be written is named", async () => {
    await writeFile(join(root, "file"), "");
    const environment = { KNFLEET_RELEASE_MIRROR: mirror };
    const ensured = ensureReleases({ root, dir: join(root, "file/below"), environment }, signal);
    await expect(ensured).rejects.toMatchObject({
      reason: "ConfigInvalid",
      message: expect.stringMatching(/^Release file \S+\/file\/below\/\S+ cannot be written$/),
    });
  });

  test("is a folder of the cache that belongs to the lock file", async () => {
    const KNFLEET_RELEASE_MIRROR = mirror;
    const own = { KNFLEET_RELEASE_MIRROR, KNFLEET_CACHE_DIR: join(root, "own") };
    const first = await ensureReleases({ root, environment: own }, signal);
    expect(first.dir).toMatch(/\/own\/releases-[0-9a-f]{16}$/);
    const shared = { KNFLEET_RELEASE_MIRROR, XDG_CACHE_HOME: join(root, "shared") };
    const second = await ensureReleases({ root, environment: shared }, signal);
    expect(second.dir).toMatch(/\/shared\/knfleet\/releases-[0-9a-f]{16}$/);
    await writeLock("http://127.0.0.1:10");
    expect((await ensureReleases({ root, environment: own }, signal)).dir).not.toBe(first.dir);
  });
});

describe("from their public source, the release files", () => {
  let server: Server;
  let requests: string[];
  let respond: (path: string, response: ServerResponse) => void;

  beforeEach(async () => {
    requests = [];
    respond = (path, response) =>
      response.end(Object.entries(content).find(([p]) => p === path)?.[1]);
    server = createServer(({ url = "" }, response) => {
      requests.push(url.slice(1));
      respond(url.slice(1), response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await writeLock(`http://127.0.0.1:${portOf(server.address())}`);
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test("are downloaded once each", async () => {
    expect(await ensureFromServer()).toEqual({ dir, source: "download" });
    expect(requests.toSorted()).toEqual(names);
    expect(await filesIn(dir)).toEqual(names);
  });

  test("are asked for again after a server error", async () => {
    respond = (path, response) => {
      if (requests.filter((one) => one === path).length === 1) response.statusCode = 503;
      response.end("kind: " + (path.at(-6) ?? "").toUpperCase() + "\n");
    };
    expect(await ensureFromServer()).toEqual({ dir, source: "download" });
    expect(requests).toHaveLength(6);
  });

  test.each([
    { name: "a missing file", status: 404, body: "kind: A\n", problem: "HTTP status 404" },
    { name: "other bytes", status: 200, body: "kind: X\n", problem: "has SHA-256" },
    { name: "fewer bytes", status: 200, body: "kind", problem: "has 4 bytes instead of 8" },
    { name: "no end", status: 200, body: "x".repeat(100_000), problem: "instead of 8" },
  ])("are refused with $name", async ({ status, body, problem }) => {
    respond = (_path, response) => {
      response.statusCode = status;
      response.end(body);
    };
    await expect(ensureFromServer()).rejects.toMatchObject({
      reason: "ReleasesUnavailable",
      message: expect.stringContaining(problem),
    });
    expect(await filesIn(dir).catch(() => [])).toEqual([]);
  });

  test("go on where they were interrupted, and nothing half-written stays", async () => {
    const stop = new AbortController();
    respond = (path, response) => {
      if (path === names[0]) response.end("kind: C\n");
      else stop.abort(new Error("interrupted"));
    };
    await expect(ensureFromServer(stop.signal)).rejects.toThrow("interrupted");
    expect((await filesIn(dir).catch(() => [])).every((path) => names.includes(path))).toBe(true);
    respond = (path, response) => response.end("kind: " + (path.at(-6) ?? "").toUpperCase() + "\n");
    expect(await ensureFromServer()).toEqual({ dir, source: "download" });
  });

  test("are neither downloaded nor copied by a program that only looks", async () => {
    for (const environment of [{}, { KNFLEET_RELEASE_MIRROR: mirror }]) {
      const options = { root, dir, environment, fetches: false };
      // oxlint-disable-next-line no-await-in-loop -- into the same folder
      await expect(ensureReleases(options, signal)).rejects.toMatchObject({
        reason: "ReleasesUnavailable",
        message: `Knative's release files are not on this machine: 3 files are not in ${dir}`,
      });
    }
    expect(requests).toEqual([]);
    await expect(stat(dir)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("are replaced by the sample only when that is allowed, with the reason", async () => {
    respond = (_path, response) => {
      response.statusCode = 404;
      response.end();
    };
    await expect(ensureFromServer()).rejects.toMatchObject({ reason: "ReleasesUnavailable" });
    const options = { root, dir, environment: {}, allowSample: true };
    expect(await ensureReleases(options, signal)).toEqual({
      dir: join(root, "test/fixtures/release"),
      source: "sample",
      sampleBecause: expect.objectContaining({ reason: "ReleasesUnavailable" }),
    });
  });
});

describe("a lock file", () => {
  test.each([
    { name: "is missing", text: undefined },
    { name: "is no JSON", text: "{" },
    { name: "lists nothing", text: '{"repository":"r","commit":"c","files":[]}' },
    {
      name: "leads out of the directory",
      text: JSON.stringify({
        repository: "r",
        commit: "c",
        files: [{ path: "a/../../b", bytes: 1, sha256: "0".repeat(64), url: "https://x.example" }],
      }),
    },
  ])("that $name is refused", async ({ text }) => {
    const path = join(root, "releases.lock.json");
    await (text === undefined ? rm(path) : writeFile(path, text));
    await expect(ensureReleases({ root, dir, environment: {} }, signal)).rejects.toMatchObject({
      reason: "ConfigInvalid",
    });
  });
});
