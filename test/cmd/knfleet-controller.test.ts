import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  ControllerProcess,
  type ControllerProcessOptions,
  type Exit,
} from "../support/controller-process.ts";
import { absentHubKubeconfig } from "./absent-hub.ts";

const releaseDir = resolve(import.meta.dirname, "../fixtures/release");

let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-controller-"));
  kubeconfig = await file("kubeconfig", absentHubKubeconfig("secret-token"));
});

afterAll(async () => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

async function run(
  options: ControllerProcessOptions,
): Promise<Exit & { stdout: string; stderr: string }> {
  await using controller = new ControllerProcess({ kubeconfig, releaseDir, ...options });
  const exit = await controller.exited;
  return { ...exit, stdout: controller.stdout, stderr: controller.stderr };
}

/** The end that is wanted, with a sentence that matches. */
function one(sentence: RegExp) {
  const line = new RegExp(`^Error: [^\\n]*${sentence.source}[^\\n]*\\n$`);
  return { code: 1, stderr: expect.stringMatching(line) };
}

describe("a controller that cannot start ends with 1 and one line on standard error", () => {
  test("with a flag that it does not know", async () => {
    expect(await run({ flags: ["--bogus"] })).toMatchObject(one(/unknown option '--bogus'/));
  });

  test("with several shards and without leader election", async () => {
    const end = one(/--shards=2 needs leader election/);
    expect(await run({ flags: ["--shards=2"] })).toMatchObject(end);
  });

  test("when servers are not to be verified (T-13)", async () => {
    const environment = { NODE_TLS_REJECT_UNAUTHORIZED: "0" };
    expect(await run({ environment })).toMatchObject(one(/NODE_TLS_REJECT_UNAUTHORIZED is set/));
  });

  test("in a pod, when NODE_OPTIONS opens its memory (T-46)", async () => {
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      NODE_OPTIONS: "--max-old-space-size=512 --heapsnapshot-signal=SIGUSR2",
    };
    expect(await run({ environment })).toMatchObject(one(/Node was given --heapsnapshot-signal/));
  });

  test("without its release directory", async () => {
    const missing = join(folder, "no-such-folder");
    const end = one(/no-such-folder, which --release-dir names, does not exist\. Correct the flag/);
    expect(await run({ releaseDir: missing })).toMatchObject(end);
  });

  test("without the release directory of the environment", async () => {
    const environment = { KNFLEET_RELEASE_DIR: join(folder, "no-such-folder") };
    const end = one(/no-such-folder, which KNFLEET_RELEASE_DIR names, does not exist/);
    expect(await run({ releaseDir: undefined, environment })).toMatchObject(end);
  });

  test("with an empty release directory", async () => {
    const empty = await mkdtemp(join(folder, "empty-"));
    expect(await run({ releaseDir: empty })).toMatchObject(one(/holds no version/));
  });

  test("without release files that it can get, and says what helps", async () => {
    const environment = {
      KNFLEET_RELEASE_DIR: "",
      KNFLEET_RELEASE_MIRROR: folder,
      KNFLEET_CACHE_DIR: join(folder, "cache"),
    };
    const end = one(/cannot be copied: \S+ cannot be read\. Name a folder that has release files/);
    expect(await run({ releaseDir: undefined, environment })).toMatchObject(end);
  });

  test("with a kubeconfig that is not there", async () => {
    const missing = join(folder, "no-such-kubeconfig");
    expect(await run({ kubeconfig: missing })).toMatchObject(one(/no-such-kubeconfig/));
  });

  test("with a kubeconfig that is none, of which nothing is shown", async () => {
    const wrong = await file("wrong-kubeconfig", '{"token": "secret-token", ');
    const result = await run({ kubeconfig: wrong });
    expect(result).toMatchObject(one(/wrong-kubeconfig/));
    expect(result.stdout + result.stderr).not.toContain("secret-token");
  });

  test("with a provider file that is not there", async () => {
    const missing = join(folder, "no-such-providers.json");
    expect(await run({ providerFile: missing })).toMatchObject(one(/no-such-providers\.json/));
  });

  test("with a provider file that is wrong", async () => {
    const wrong = await file("providers.json", '{"providers": "many"}');
    expect(await run({ providerFile: wrong })).toMatchObject(one(/providers/));
  });

  test("with a provider file of which no provider can be used", async () => {
    const useless = await file("useless.json", '{"providers": [{"name": "a"}]}');
    expect(await run({ providerFile: useless })).toMatchObject(one(/useless\.json.*a: /));
  });

  test("with a health address that is taken", async () => {
    await using first = new ControllerProcess({ kubeconfig, releaseDir });
    const { port } = new URL(await first.healthUrl());
    const flags = [`--health-address=127.0.0.1:${port}`];
    expect(await run({ flags })).toMatchObject(one(/--health-address/));
  });
});

test("help and version are printed and nothing is started", async () => {
  expect(await run({ flags: ["--version"] })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: "",
  });
  expect(await run({ flags: ["--help"] })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("--release-dir <dir>"),
    stderr: "",
  });
});

describe("a controller whose hub does not answer", () => {
  test("is healthy, not ready, says why, and stops with 0 when it is told to", async () => {
    await using controller = new ControllerProcess({ kubeconfig, releaseDir });
    const url = await controller.healthUrl();
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const ready = await fetch(`${url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain("waiting for the components on the hub");
    await controller.logged({ level: "warn", msg: "Cannot watch components on the hub" });
    expect(await controller.stop()).toEqual({ code: 0, signal: null });
    expect(controller.stderr).toBe("");
    expect(controller.stdout).not.toContain("secret-token");
  });

  test("opens no debugger, whoever asks for one (T-46)", async () => {
    await using controller = new ControllerProcess({ kubeconfig, releaseDir });
    const url = await controller.healthUrl();
    for (let times = 0; times < 3; times += 1) {
      controller.signal("SIGUSR1");
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    }
    expect(await controller.stop()).toEqual({ code: 0, signal: null });
    expect(controller.stderr).toBe("");
  });

  test("takes the poll interval as upstream does, and says which one it took", async () => {
    const flags = ["--remote-deployments-poll-interval=-3s"];
    await using controller = new ControllerProcess({ kubeconfig, releaseDir, flags });
    const line = await controller.logged({ msg: "Starting" });
    expect(line["pollIntervalMs"]).toBe(10_000);
  });

  test("writes for people when it is asked to", async () => {
    const flags = ["--log-format=text"];
    await using controller = new ControllerProcess({ kubeconfig, releaseDir, flags });
    await expect
      .poll(() => controller.stdout, { timeout: 60_000 })
      .toMatch(/^[\d:.]{12} info {2}Starting version=/);
  });
});
