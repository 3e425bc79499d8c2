import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { waitFor } from "../fleet/wait-for.ts";
import { type ImageFolder, layOutImage } from "./image-folder.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");
// Without any environment, as in an image that sets nothing.
const env = {};
let image: ImageFolder;
let flags: readonly string[];

beforeAll(async () => {
  image = await layOutImage();
  const dockerfile = await readFile(join(project, "Dockerfile"), "utf8");
  const [, entry = ""] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile) ?? [];
  const words: unknown = JSON.parse(entry);
  flags = Array.isArray(words) ? words.slice(1).map(String) : [];
}, 120_000);

afterAll(async () => image[Symbol.asyncDispose]());

describe("a folder as the image, with an empty environment", () => {
  test("has nothing of the tests, of development and of other programs", async () => {
    const packages = await readdir(image.path("/app/node_modules"));
    expect(packages).not.toEqual(expect.arrayContaining(["vitest"]));
    expect(packages).not.toEqual(expect.arrayContaining(["typescript"]));
    expect((await readdir(image.path("/app"))).toSorted()).toEqual([
      "access",
      "api",
      "cmd",
      "controller",
      "node_modules",
      "package.json",
      "webhook",
    ]);
  });

  test.each(["knfleet-controller", "knfleet-webhook"])("%s says its version", async (program) => {
    const file = image.path(`/app/cmd/${program}.ts`);
    const { stdout, stderr } = await run(
      image.path("/usr/local/bin/node"),
      [...flags, file, "--version"],
      { env },
    );
    const { version } = JSON.parse(await readFile(image.path("/app/package.json"), "utf8"));
    expect({ stdout, stderr }).toEqual({ stdout: `${version}\n`, stderr: "" });
  });

  test("has the command line, for the Job of `kubectl knfleet diagnose --from controller`", async () => {
    const file = image.path("/app/cmd/kubectl-knfleet.ts");
    const words = [...flags, file, "explain", "ClusterBusy"];
    const { stdout } = await run(image.path("/usr/local/bin/node"), words, { env });
    expect(stdout).toContain("ClusterBusy");
  });

  test("knfleet-uninstall-check says in one line that there is no cluster", async () => {
    const file = image.path("/app/cmd/knfleet-uninstall-check.ts");
    const attempt = run(image.path("/usr/local/bin/node"), [...flags, file], { env });
    const said = await attempt.catch((error: unknown) => error);
    expect(said).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Error: .+\n$/) });
  });

  test.each(["knfleet-controller", "knfleet-webhook"])(
    "%s starts with the releases of the image, serves, and ends with 0",
    async (program) => {
      const kubeconfig = image.path("/hub.kubeconfig");
      // Nobody listens there; a hub that is away is no reason to end.
      await writeFile(kubeconfig, JSON.stringify(awayHub));
      const args = [
        ...flags,
        image.path(`/app/cmd/${program}.ts`),
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

const awayHub = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "hub", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "hub", user: { token: "none" } }],
  contexts: [{ name: "hub", context: { cluster: "hub", user: "hub" } }],
  "current-context": "hub",
};
