import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { withTimeout } from "../../access/time/deadline.ts";
import { type EnsureReleasesOptions, ensureReleases } from "../../cmd/release-files.ts";
import { readLock } from "../../cmd/release-lock.ts";
import { portOf } from "../fleet/ports.ts";
import { clockArguments, clockEnvironment } from "../support/clock-factor.ts";
import { QuickClock } from "../support/quick-clock.ts";
import { runKnfleet } from "./kubectl/run-knfleet.ts";
import { type PlainCopy, plainCopy } from "./plain-copy.ts";
import { droppingAddress, type SilentPlace, silentListener } from "./silent-networks.ts";

const project = resolve(import.meta.dirname, "../..");
const { signal } = new AbortController();
const names = ["LICENSE", "knative-serving/1.0.0/1-a.yaml", "knative-serving/1.0.0/2-b.yaml"];
const missing = "Knative's release files are not on this machine and cannot be downloaded: ";
const silences = [
  { name: "a server that never answers", open: silentListener },
  { name: "a network that drops every packet", open: droppingAddress },
];

function refuse(response: ServerResponse): void {
  response.writeHead(403).end();
}

let clock: QuickClock;
beforeEach(() => {
  clock = new QuickClock(5);
  return () => clock[Symbol.asyncDispose]();
});

/** Lets a project whose files are at a port of this machine fill its cache. */
async function ensureFrom(
  port: number,
  { stop = signal, onSlow }: Pick<EnsureReleasesOptions, "onSlow"> & { stop?: AbortSignal } = {},
) {
  const surroundings = await mkdtemp(join(tmpdir(), "knfleet-release-download-"));
  onTestFinished(() => rm(surroundings, { recursive: true }));
  const root = join(surroundings, "project");
  await mkdir(root);
  const files = names.map((path) => ({
    path,
    bytes: path.length,
    sha256: createHash("sha256").update(path).digest("hex"),
    url: `http://127.0.0.1:${port}/${path}`,
  }));
  const lock = { repository: "https://example.com/x", commit: "1", files };
  await writeFile(join(root, "releases.lock.json"), JSON.stringify(lock));
  const environment = { KNFLEET_CACHE_DIR: join(surroundings, "cache") };
  return await ensureReleases({ root, environment, onSlow, clock }, stop);
}

/** A server that answers as told; returns its port. */
async function serverThat(
  respond: (path: string, response: ServerResponse) => void,
): Promise<number> {
  const server = createServer(({ url = "" }, response) => respond(url.slice(1), response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return portOf(server.address());
}

describe("a download", () => {
  test.each(silences)("is given up after 5 s on $name, and said after 1 s", async ({ open }) => {
    await using place = await open();
    const startedAt = clock.now();
    const said: { readonly line: string; readonly ms: number }[] = [];
    const onSlow = (line: string) => said.push({ line, ms: clock.now() - startedAt });
    await expect(ensureFrom(place.port, { onSlow })).rejects.toMatchObject({
      reason: "ReleasesUnavailable",
      message: `${missing}127.0.0.1:${place.port} did not answer within 5 s`,
    });
    // Before, three attempts took 33 s.
    expect(clock.now() - startedAt).toBeLessThan(20_000);
    const line = `Knative's release files are not on this machine: downloading them from 127.0.0.1:${place.port}`;
    expect(said).toEqual([{ line, ms: expect.any(Number) }]);
    expect(said[0]?.ms).toBeLessThan(4_900);
  });

  test("from a port where nobody listens ends at once, and names no file", async () => {
    const said: string[] = [];
    const closed = await silentListener();
    await closed[Symbol.asyncDispose]();
    await expect(
      ensureFrom(closed.port, { onSlow: (line) => said.push(line) }),
    ).rejects.toMatchObject({
      message: `${missing}127.0.0.1:${closed.port} refused the connection (ECONNREFUSED)`,
      cause: { code: "ECONNREFUSED" },
    });
    expect(said).toEqual([]);
  });

  test("whose time is over says how far it came, and not that a hub is silent", async () => {
    await using place = await silentListener();
    const early = ensureFrom(place.port, { stop: withTimeout(clock, 300, signal) });
    await expect(early).rejects.toMatchObject({
      message: `${missing}the time was over when 0 of 3 files had come from 127.0.0.1:${place.port}`,
    });
    const port = await serverThat((path, response) => {
      if (path === names[0]) response.end(path);
    });
    const late = ensureFrom(port, { stop: withTimeout(clock, 1_500, signal) });
    await expect(late).rejects.toMatchObject({
      message: `${missing}the time was over when 1 of 3 files had come from 127.0.0.1:${port}`,
    });
  });

  test("is given up after 5 s in all when the first answer is an error and the second never comes", async () => {
    let asked = 0;
    const port = await serverThat((_path, response) => {
      asked += 1;
      if (asked === 1) response.writeHead(503).end();
    });
    const startedAt = clock.now();
    await expect(ensureFrom(port)).rejects.toMatchObject({
      message: `${missing}http://127.0.0.1:${port}/${names[0]} was answered with HTTP status 503`,
    });
    expect(asked).toBe(2);
    // Before, the second attempt alone took 30 s.
    expect(clock.now() - startedAt).toBeLessThan(20_000);
  });

  test("that fails for one file does not wait for those behind it", async () => {
    const held = Promise.withResolvers<void>();
    const port = await serverThat((path, response) => {
      if (path === names[0]) response.end(path);
      else if (path === names[1]) void held.promise.then(() => refuse(response));
      // The last file is asked for, and its answer never ends.
      else response.writeHead(200).write(path.slice(1), () => held.resolve());
    });
    const startedAt = clock.now();
    await expect(ensureFrom(port)).rejects.toMatchObject({
      message: `${missing}http://127.0.0.1:${port}/${names[1]} was answered with HTTP status 403`,
    });
    expect(clock.now() - startedAt).toBeLessThan(20_000);
  });

  test.each([
    { name: "the first file", still: 0 },
    { name: "a file behind it", still: 1 },
  ])(
    "is given up when a server answers 200 and then stands still for 5 s, with $name",
    async ({ still }) => {
      const said: string[] = [];
      let asked = 0;
      const port = await serverThat((path, response) => {
        if (path !== names[still]) response.end(path);
        else {
          asked += 1;
          response.writeHead(200).write(path.slice(1));
        }
      });
      const startedAt = clock.now();
      await expect(ensureFrom(port, { onSlow: (line) => said.push(line) })).rejects.toMatchObject({
        reason: "ReleasesUnavailable",
        message: `${missing}127.0.0.1:${port} has sent nothing of http://127.0.0.1:${port}/${names[still]} for 5 s`,
      });
      // Before, three attempts took 90 s.
      expect(clock.now() - startedAt).toBeLessThan(20_000);
      expect(asked).toBe(1);
      expect(said).toEqual([
        `Knative's release files are not on this machine: downloading them from 127.0.0.1:${port}`,
      ]);
    },
  );

  test("of a server that goes on sending takes as long as it takes", async () => {
    const port = await serverThat((path, response) => {
      const drips = [path.slice(0, 2), path.slice(2, 4), path.slice(4)];
      const parts = path === names[0] ? drips : [path];
      const send = (): void => {
        const part = parts.shift();
        if (part === undefined) response.end();
        // Together more than 5 s.
        else response.write(part, () => clock.after(1_800, send));
      };
      send();
    });
    const { source } = await ensureFrom(port);
    expect(source).toBe("download");
  });

  test("that is interrupted ends with the interruption", async () => {
    const stop = new AbortController();
    const port = await serverThat(() => stop.abort(new Error("interrupted")));
    await expect(ensureFrom(port, { stop: stop.signal })).rejects.toThrow("interrupted");
  });

  test("of several files that are refused names the first of the list, whichever is refused first", async () => {
    const held: ServerResponse[] = [];
    const port = await serverThat((path, response) => {
      if (path === names[0]) response.end(path);
      else if (path === names[1]) held.push(response);
      // Its connection is closed when the answer was read.
      else refuse(response.on("close", () => held.forEach(refuse)));
    });
    const url = `http://127.0.0.1:${port}/${names[1]}`;
    await expect(ensureFrom(port)).rejects.toMatchObject({
      message: `${missing}${url} was answered with HTTP status 403`,
    });
  });
});

describe("a command without release files", () => {
  let place: SilentPlace;
  let copy: PlainCopy;
  let file: string;
  beforeAll(async () => {
    place = await droppingAddress();
    copy = await plainCopy(place.port);
    file = copy.path("serving.yaml");
    await writeFile(
      file,
      "apiVersion: operator.knative.dev/v1beta1\nkind: KnativeServing\nmetadata: {name: ks, namespace: a}\n",
    );
  });
  afterAll(async () => {
    await place[Symbol.asyncDispose]();
    await copy[Symbol.asyncDispose]();
  });

  function run(args: readonly string[], clockFactor = 1) {
    const program = copy.path("cmd/kubectl-knfleet.ts");
    const env = { ...copy.env, ...clockEnvironment(clockFactor) };
    const options = { command: process.execPath, env, timeoutMs: 30_000 };
    return runKnfleet([...clockArguments(clockFactor), program, ...args], options);
  }

  test("says so on a network that drops every packet, and what helps there", async () => {
    const runs = await Promise.all([run(["render", "-f", file], 5), run(["can-i", "--role"], 5)]);
    for (const { exitCode, stdout, stderr } of runs) {
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
      expect(stderr.trimEnd().split("\n")).toEqual([
        `Knative's release files are not on this machine: downloading them from 127.0.0.1:${place.port}`,
        `error: ${missing}127.0.0.1:${place.port} did not answer within 5 s`,
        expect.stringMatching(
          /^hint: .*KNFLEET_RELEASE_DIR.*KNFLEET_RELEASE_MIRROR.*npm run releases/,
        ),
      ]);
    }
  });

  // More than 2 s: its time has to be long enough for a program that starts on a busy machine to begin the download.
  test("names the download when its own time is over, and is silent before when it is asked to", async () => {
    const { files } = await readLock(project);
    const { exitCode, stderr } = await run(["render", "-f", file, "--timeout", "4s", "-q"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      `error: ${missing}the time was over when 0 of ${files.length} files had come from 127.0.0.1:${place.port}\n`,
    );
    expect(stderr).not.toContain("downloading");
    expect(stderr).not.toContain("hub");
  });
});
