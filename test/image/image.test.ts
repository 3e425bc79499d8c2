import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { waitFor } from "../fleet/wait-for.ts";
import { imageArguments, imageEnvironment } from "../support/image-environment.ts";
import { type ImageFolder, layOutImage } from "./image-folder.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");
// Without any environment, as in an image that sets nothing.
const env = {};
let image: ImageFolder;
let folder: string;
let before: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-image-test-"));
  image = await layOutImage();
  before = await stateOf(image.path("/app"));
}, 120_000);

afterAll(async () => {
  await image[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

test("the image keeps the heap of V8 and its code small", () => {
  expect(imageArguments()).toContain("--max-semi-space-size=2");
  expect(imageArguments()).toContain("--heap-growing-percent=20");
  expect(imageArguments()).toContain("--no-sparkplug");
});

test("the image tells the C library to give memory back", () => {
  expect(imageEnvironment()).toEqual({
    MALLOC_ARENA_MAX: "1",
    MALLOC_MMAP_THRESHOLD_: "131072",
    MALLOC_TRIM_THRESHOLD_: "1048576",
  });
});

describe("a folder as the image, with an empty environment", () => {
  test("has the bundle, Node and the releases, and nothing else", async () => {
    expect((await readdir(image.path("/"))).toSorted()).toEqual(["app", "usr", "var"]);
    expect((await readdir(image.path("/app"))).toSorted()).toEqual([
      "LICENSE",
      "README.md",
      "THIRD-PARTY-LICENSES.txt",
      "chunks",
      "k9s-plugins.yaml",
      "knfleet-controller.js",
      "knfleet-uninstall-check.js",
      "knfleet-webhook.js",
      "kubectl-knfleet.js",
      "package.json",
      "releases.lock.json",
      "schemas",
    ]);
    const files = await readdir(image.path("/app"), { recursive: true });
    expect(files.filter((file) => /node_modules|\.ts$|\.map$/.test(file))).toEqual([]);
  });

  test("starts with a program that is there", async () => {
    const dockerfile = await readFile(join(project, "Dockerfile"), "utf8");
    const [, program = ""] = /^CMD \["(.+)"\]$/m.exec(dockerfile) ?? [];
    expect((await readdir(image.path("/app"))).map((name) => `/app/${name}`)).toContain(program);
  });

  test.each(["knfleet-controller", "knfleet-webhook"])("%s says its version", async (program) => {
    const file = image.path(`/app/${program}.js`);
    const { stdout, stderr } = await run(
      image.path("/usr/local/bin/node"),
      [...imageArguments(), file, "--version"],
      { env },
    );
    const { version } = JSON.parse(await readFile(image.path("/app/package.json"), "utf8"));
    expect({ stdout, stderr }).toEqual({ stdout: `${version}\n`, stderr: "" });
  });

  test("has the command line, for the Job of `kubectl knfleet diagnose --from controller`", async () => {
    const file = image.path("/app/kubectl-knfleet.js");
    const words = [...imageArguments(), file, "explain", "ClusterBusy"];
    const { stdout } = await run(image.path("/usr/local/bin/node"), words, { env });
    expect(stdout).toContain("ClusterBusy");
  });

  test("knfleet-uninstall-check says in one line that there is no cluster", async () => {
    const file = image.path("/app/knfleet-uninstall-check.js");
    const attempt = run(image.path("/usr/local/bin/node"), [...imageArguments(), file], { env });
    const said = await attempt.catch((error: unknown) => error);
    expect(said).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Error: .+\n$/) });
  });

  test.each(["knfleet-controller", "knfleet-webhook"])(
    "%s starts with the releases of the image, serves, and ends with 0",
    async (program) => {
      const kubeconfig = join(folder, "hub.kubeconfig");
      // Nobody listens there; a hub that is away is no reason to end.
      await writeFile(kubeconfig, JSON.stringify(awayHub));
      const args = [
        ...imageArguments(),
        image.path(`/app/${program}.js`),
        `--kubeconfig=${kubeconfig}`,
        `--release-dir=${image.path("/var/lib/knfleet/releases")}`,
        "--health-address=127.0.0.1:0",
        ...(program === "knfleet-webhook" ? ["--address=127.0.0.1:0"] : []),
      ];
      const child = spawn(image.path("/usr/local/bin/node"), args, { env });
      let said = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
      const exited = once(child, "exit");
      try {
        const address = await waitFor(
          `${program} to serve`,
          () => /"address":"([\d.:]+)","msg":"Serving health and metrics"/.exec(said)?.[1],
          { timeoutMs: 60_000 },
        );
        expect((await fetch(`http://${address}/healthz`)).status).toBe(200);
      } finally {
        child.kill("SIGTERM");
      }
      expect([await exited, said.includes("Cannot find")]).toEqual([[0, null], false]);
    },
    120_000,
  );
});

/** Runs after all others, which may not have written anything: in the cluster nothing there can be written. */
test("nothing in the image was changed by what ran from it", async () => {
  expect(await stateOf(image.path("/app"))).toEqual(before);
});

/** Path, size and time of the last change. */
async function stateOf(root: string): Promise<readonly string[]> {
  const paths = (await readdir(root, { recursive: true })).toSorted();
  return Promise.all(
    paths.map(async (path) => {
      const { size, mtimeMs } = await stat(join(root, path));
      return `${path} ${size} ${mtimeMs}`;
    }),
  );
}

const awayHub = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "hub", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "hub", user: { token: "none" } }],
  contexts: [{ name: "hub", context: { cluster: "hub", user: "hub" } }],
  "current-context": "hub",
};
