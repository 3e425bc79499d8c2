import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { component } from "../../fleet-facts.ts";
import { recordedObjects } from "../../recorded-hub.ts";
import { runText } from "../../run-text.ts";
import { startStubHub, type Answer } from "../../stub-hub.ts";
import { startComparingHub, type ComparingHub } from "../diff/comparing-hub.ts";

const group = { kind: "APIGroup", versions: [{ version: "v1alpha1" }] };

const userInfo = { username: "me", groups: ["system:authenticated"] };

/** The API groups of a hub of a version of Kubernetes. */
function served(gitVersion = "v1.36.3", profiles = true): Answer {
  const missing = {
    kind: "Status",
    apiVersion: "v1",
    code: 404,
    reason: "NotFound",
    message: "no",
  };
  return ({ path }) => {
    if (path.endsWith("/selfsubjectreviews")) return { body: { status: { userInfo } } };
    if (path === "/version") return { body: { gitVersion } };
    if (path !== "/apis/multicluster.x-k8s.io") return undefined;
    return profiles ? { body: group } : { status: 404, body: missing };
  };
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-check-test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function ran(args: readonly string[], answer = served()) {
  const twin = component({ kind: "KnativeEventing", cluster: null, namespace: "team-b" });
  await using hub = await startStubHub([...recordedObjects, twin], answer);
  const { exitCode, stdout, stderr } = await runText(["check", ...args], {
    env: { ...hub.env, LANG: "C.UTF-8" },
  });
  const text = `${stdout}--- stderr\n${stderr}`.replaceAll(
    /http:\/\/127\.0\.0\.1:\d+/g,
    "http://hub",
  );
  return { exitCode, stdout, text, requests: hub.requests };
}

describe("check", () => {
  test.each([
    ["check.txt", []],
    ["check.wide.txt", ["-o", "wide"]],
    ["check.json.txt", ["-o", "json"]],
    ["check.short.txt", ["-o", "short"]],
    ["check.junit.txt", ["-o", "junit"]],
  ])(
    "%s is printed as agreed, and the exit code says that something is wrong",
    async (name, args) => {
      const { text, exitCode, requests } = await ran(args);
      await expect(text).toMatchFileSnapshot(
        join(import.meta.dirname, "../../../../golden/kubectl", name),
      );
      expect(exitCode).toBe(1);
      expect(requests.filter((line) => !/^GET |selfsubject/.test(line))).toEqual([]);
    },
  );

  test("says that an older hub has no image volumes", async () => {
    const { stdout } = await ran(["-o", "short"], served("v1.34.2"));
    expect(stdout).toContain(
      "WARN hub Kubernetes of the hub: v1.34.2 has no image volumes by default",
    );
  });

  test.each([
    {
      command: "builtin:secretreader",
      groups: ["argoproj.io", "apps"],
      says: /^WARN hub .*\(tokens\).* Argo CD of this hub cannot use a file with them$/,
    },
    {
      command: "builtin:kubeconfig-secretreader",
      groups: ["kueue.x-k8s.io", "lib.projectsveltos.io"],
      says: /^WARN hub .*\(tokens\).* Sveltos, Kueue of this hub cannot use a file with them$/,
    },
    { command: "builtin:secretreader", groups: ["apps"], says: /^$/ },
    { command: "/p/secretreader", groups: ["argoproj.io"], says: /^$/ },
  ])("with $command, $groups on the hub: $says", async ({ command, groups, says }) => {
    const execConfig = { apiVersion: "client.authentication.k8s.io/v1", command };
    const providers = [{ name: "tokens", execConfig }];
    const path = await file("shared.json", JSON.stringify({ providers }));
    const list = { kind: "APIGroupList", groups: groups.map((name) => ({ name })) };
    const answer: Answer = (request) =>
      request.path === "/apis" ? { body: list } : served()(request);
    const args = ["-o", "short", "--clusterprofile-provider-file", path];
    const { stdout } = await ran(args, answer);
    const lines = stdout.split("\n").filter((one) => one.includes("shared provider file"));
    expect(lines.join("\n")).toMatch(says);
  });

  test("gets one credential for the hub, however many checks it makes", async () => {
    await using hub = await startStubHub(recordedObjects, served());
    const counted = join(folder, "credentials.txt");
    const credential = {
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token: "t" },
    };
    const script = `echo one >> ${counted}; echo '${JSON.stringify(credential)}'`;
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "sh",
      args: ["-c", script],
      interactiveMode: "Never",
    };
    const kubeconfig = await file(
      "exec-user",
      JSON.stringify({
        "current-context": "hub",
        contexts: [{ name: "hub", context: { cluster: "hub", user: "me" } }],
        clusters: [{ name: "hub", cluster: { server: hub.url } }],
        users: [{ name: "me", user: { exec } }],
      }),
    );
    const { stdout } = await runText(["check", "-o", "short"], {
      env: { KUBECONFIG: kubeconfig, PATH: process.env["PATH"] ?? "" },
    });
    expect(stdout).not.toContain("KNF1002");
    expect(hub.requests).toContain("GET /version");
    expect(await readFile(counted, "utf8")).toBe("one\n");
  });

  test("says that a hub has no ClusterProfiles", async () => {
    const { stdout, exitCode } = await ran(["-o", "short"], served("v1.36.3", false));
    expect(stdout).toContain(
      "FAIL hub ClusterProfile CRD: KNF2001 The hub does not serve ClusterProfiles",
    );
    expect(exitCode).toBe(1);
  });

  test("reads each provider of a file with what is wrong with it", async () => {
    const providers = [
      {
        name: "good",
        execConfig: {
          command: "/p",
          apiVersion: "client.authentication.k8s.io/v1",
          interactiveMode: "Never",
        },
      },
      { name: "bad", execConfig: {} },
    ];
    const path = await file("providers.json", JSON.stringify({ providers }));
    const { stdout } = await ran(["-o", "short", "--clusterprofile-provider-file", path]);
    expect(stdout).toMatch(/^FAIL hub provider file: (?:KNF\d+ )?.*bad/m);
  });

  test.each([
    ["--fail-on", "never", 0],
    ["--fail-on", "sometimes", 2],
    ["--warn-within", "soon", 2],
    ["-f", "/no/file", 2],
  ])("%s %s is %d", async (flag, value, code) => {
    expect((await ran([flag, value])).exitCode).toBe(code);
  });
});

function textOf(name: string, version: string, config?: object): string {
  const metadata = { name };
  return JSON.stringify({
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeEventing",
    metadata,
    spec: { version, config },
  });
}

describe("check -f", () => {
  let hub: ComparingHub;
  beforeAll(async () => {
    hub = await startComparingHub({}, { answer: served() });
  });
  afterAll(() => hub[Symbol.asyncDispose]());

  test.each([
    ["what is installed", "knative-eventing", "1.23", /^$/],
    ["a second one for its cluster", "second", "1.23", /^FAIL .*one per profile: KNF1013 /m],
    [
      "a version that may not follow",
      "knative-eventing",
      "1.20",
      /^FAIL .*version: (?:ReleaseNotFound|VersionNotEligible) /m,
    ],
  ])("of %s", async (...[, name, version, says]) => {
    const path = await file(`${name}-${version}.yaml`, textOf(name, version));
    const args = ["check", "-f", path, "--release-dir", hub.releaseDir, "-o", "short"];
    const { stdout } = await runText(args, { env: hub.env });
    const about = stdout.split("\n").filter((line) => line.includes("KnativeEventing"));
    expect(about.join("\n")).toMatch(says);
  });

  test("warns of entries of spec.config that change nothing", async () => {
    const path = await file("config.yaml", textOf("knative-eventing", "1.23", { thick: {} }));
    const args = ["check", "-f", path, "--release-dir", hub.releaseDir, "-o", "short"];
    const { stdout } = await runText(args, { env: hub.env });
    expect(stdout).toMatch(/^WARN .*config: spec\.config changes nothing for thick: /m);
  });
});
