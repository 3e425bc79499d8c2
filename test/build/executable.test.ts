import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";

import { commandTable } from "../../cmd/kubectl/command-table.ts";
import { recordedObjects } from "../cmd/kubectl/recorded-hub.ts";
import { runKnfleet } from "../cmd/kubectl/run-knfleet.ts";
import { startStubHub, type StubHub } from "../cmd/kubectl/stub-hub.ts";
import { valueAt } from "../fleet/json-record.ts";

const run = promisify(execFile);
const project = resolve(import.meta.dirname, "../..");
let folder: string;
let command: string;
let hub: StubHub;

const reachable = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ClusterProfile",
  metadata: { namespace: "fleet", name: "reachable", uid: "reachable", resourceVersion: "1" },
  status: {
    conditions: [{ type: "ControlPlaneHealthy", status: "True" }],
    accessProviders: [{ name: "secretreader", cluster: { server: "https://127.0.0.1:1" } }],
  },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-executable-"));
  const script = join(project, "cmd/build/executable.ts");
  const output = join(folder, "made");
  await run(process.execPath, [script, "--output", output]);
  command = join(output, "kubectl-knfleet");
  hub = await startStubHub([...recordedObjects, reachable]);
}, 600_000);

afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Runs the executable where no program can be found. */
function executable(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return runKnfleet(args, { command, env: { PATH: "/nonexistent", HOME: folder, ...env } });
}

test("the licences lie beside the executable, that of Node with them", async () => {
  const files = await readdir(join(folder, "made"));
  expect(files.toSorted()).toEqual(["LICENSE", "THIRD-PARTY-LICENSES.txt", "kubectl-knfleet"]);
  const licenses = await readFile(join(folder, "made/THIRD-PARTY-LICENSES.txt"), "utf8");
  expect(licenses).toContain("Node.js is licensed for use as follows");
  expect(licenses).toContain("undici");
});

// It is bundled as one module: the help of one command of a group proves that of the others, which test/build/dist.test.ts has.
test("it has every command, and help for one of a group, without a Node", async () => {
  const all = await executable(["--help"]);
  const help = await executable(["rollout", "plan", "--help"]);
  expect([all.exitCode, all.stderr, help.exitCode, help.stderr]).toEqual([0, "", 0, ""]);
  const words = commandTable().map(({ name }) => name.split(" ")[0]);
  expect(words.filter((word) => !all.stdout.includes(`\n  ${word} `))).toEqual([]);
  expect(help.stdout).toContain("kubectl knfleet rollout plan");
});

/** Without ages and times. */
function timeless(text: string): string {
  return text.replaceAll(/\b\d+m?s\b|\d{4}-\d\d-\d\dT[\d:.]+Z/g, "*");
}

test.each([
  { args: ["status", "-A", "--no-live", "-o", "json"] },
  { args: ["explain", "ClusterBusy", "-o", "json"] },
  { args: ["status", "no-such-component"] },
])("$args says what the program of the sources says", async ({ args }) => {
  const expected = await runKnfleet(args, { env: hub.env });
  const said = await executable(args, hub.env);
  expect({ ...said, stdout: timeless(said.stdout) }).toEqual({
    ...expected,
    stdout: timeless(expected.stdout),
  });
});

test("NODE_OPTIONS are not for it", async () => {
  const { exitCode, stderr } = await executable(["version", "--client"], {
    NODE_OPTIONS: "--bogus",
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
});

test("it knows which release files there are", async () => {
  const mirror = join(folder, "mirror");
  await mkdir(mirror);
  const file = join(folder, "component.yaml");
  const component = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing" };
  await writeFile(file, JSON.stringify({ ...component, metadata: { name: "a", namespace: "a" } }));
  const env = { KNFLEET_RELEASE_MIRROR: mirror };
  const { stderr } = await executable(["render", "-f", file], env);
  const { files } = JSON.parse(await readFile(join(project, "releases.lock.json"), "utf8"));
  expect(files.some(({ path }: { path: string }) => stderr.includes(path))).toBe(true);
});

test("a kubeconfig names the executable itself where it is not on the PATH", async () => {
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "builtin:secretreader",
    provideClusterInfo: true,
  };
  const providers = [{ name: "secretreader", execConfig, systemRoots: true }];
  const file = join(folder, "providers.json");
  await writeFile(file, JSON.stringify({ providers }));
  const args = ["kubeconfig", "fleet/reachable", "--clusterprofile-provider-file", file];
  const { stdout, stderr } = await executable(args, hub.env);
  expect(stderr).toBe("");
  const exec = valueAt(parse(stdout), "users", 0, "user", "exec");
  expect(exec).toMatchObject({ command, args: expect.arrayContaining(["credential"]) });
  expect(valueAt(exec, "args", 0)).toBe("credential");
});

describe("what installers take from a release", () => {
  const tag = "v9.8.7";
  const names = ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"];
  const archiveOf = (platform: string) => `kubectl-knfleet-${tag}-${platform}.tar.gz`;
  let release: string;

  // Those of all platforms are the same one here.
  beforeAll(async () => {
    release = join(folder, "release");
    await mkdir(release);
    const [first = "", ...others] = names.map((name) => join(release, archiveOf(name)));
    await run("tar", ["-czf", first, "-C", join(folder, "made"), "."]);
    await Promise.all(others.map((other) => cp(first, other)));
  });

  test("the manifest for krew is as krew's index wants it, with an archive for each platform", async () => {
    const manifest = await krewManifest();
    expect(manifest).toMatchObject({
      apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
      kind: "Plugin",
      metadata: { name: expect.stringMatching(/^(?!kube-)[a-z]+(?:-[a-z]+)*$/) },
      spec: {
        version: tag,
        homepage: expect.stringMatching(/^https:/),
        // One line, and no list of flags.
        shortDescription: expect.stringMatching(/^(?!.*--)[^\n.]{10,50}$/),
        platforms: names.map((name) => {
          const [os, arch] = name.split("-");
          return {
            selector: { matchLabels: { os, arch } },
            uri: expect.stringMatching(new RegExp(`^https:.*/${tag}/${archiveOf(name)}$`)),
            sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
            bin: "kubectl-knfleet",
          };
        }),
      },
    });
  });

  test("what krew takes out of the archive runs through krew's link, and has the licence beside it", async () => {
    const store = join(folder, "store");
    await mkdir(store);
    await run("tar", ["-xzf", join(release, archiveOf("linux-amd64")), "-C", store]);
    expect(await readdir(store)).toContain("LICENSE");
    const link = join(folder, "kubectl-knfleet");
    await symlink(join(store, "kubectl-knfleet"), link);
    const { stdout } = await run(link, ["--help"], { env: {} });
    expect(stdout).toContain("kubectl knfleet status");
  });

  test("the formula for Homebrew has the address and the sum of each archive", async () => {
    const script = join(project, "cmd/build/brew-formula.ts");
    const { stdout } = await run(process.execPath, [script, tag, release]);
    const sums = [...stdout.matchAll(/url "(\S+)"\n +sha256 "(\w+)"/g)];
    const sum = await sumOf(join(release, archiveOf("linux-amd64")));
    expect(new Map(sums.map(([, url = "", sha256]) => [basename(url), sha256]))).toEqual(
      new Map(names.map((name) => [archiveOf(name), sum])),
    );
    expect(stdout).toContain('version "9.8.7"');
  });

  /** The template as krew-release-bot fills it in. */
  async function krewManifest(): Promise<unknown> {
    const template = await readFile(join(project, ".krew.yaml"), "utf8");
    const sha256 = await sumOf(join(release, archiveOf("linux-amd64")));
    const filled = template
      .replaceAll(/\{\{ *addURIAndSha "(.+)" \.TagName *\}\}/g, `uri: $1\n      sha256: ${sha256}`)
      .replaceAll("{{ .TagName }}", tag);
    expect(filled).not.toContain("{{");
    return parse(filled);
  }
});

async function sumOf(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}
