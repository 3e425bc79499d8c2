import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { fleetSet } from "../../set-facts.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";

const objects = [
  component(),
  fleetSet(),
  component({ kind: "KnativeEventing", namespace: "team-b", ready: { status: "False" } }),
  ...["eu-1", "eu-2", "us-1"].map((name) => ({
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1" },
  })),
  ...["team-a", "team-b"].map((name) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, uid: name, resourceVersion: "1" },
  })),
];

let hub: StubHub;
let folder: string;
beforeAll(async () => {
  hub = await startStubHub(objects);
  folder = await mkdtemp(join(tmpdir(), "knfleet-completion-"));
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

// The second that a person waits may be too short for a busy machine.
const patient = { KNFLEET_COMPLETION_TIMEOUT: "60s" };

/** The words that are offered, and the directive. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout, stderr, exitCode } = await runText(["__complete", ...words], {
    env: { ...hub.env, ...patient },
  });
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t")[0] ?? "");
}

describe("completion", () => {
  test.each([
    [["sta"], ["status", ":4"]],
    [
      ["--context", "hub", "sta"],
      ["status", ":4"],
    ],
    [
      ["status", "--no-l"],
      ["--no-live", ":4"],
    ],
    [
      ["status", "-o", "j"],
      ["json", "jsonpath=", "jsonpath-as-json=", ":6"],
    ],
    [
      ["can-i", "-o", "cl"],
      ["clusterrole", ":4"],
    ],
    [
      ["status", "--set", "k"],
      ["kss/prod", ":4"],
    ],
    [
      ["wait", "k"],
      ["ks/knative-serving", "kss/prod", ":4"],
    ],
    [
      ["wait", "kss/prod", "--for", "s"],
      ["stage=", ":6"],
    ],
    [["status", "-o", "cl"], [":4"]],
    [
      ["status", "--output=y"],
      ["yaml", ":4"],
    ],
    [
      ["status", "--color", ""],
      ["auto", "always", "never", ":4"],
    ],
    [
      ["explain", "TLSUn"],
      ["TLSUntrusted", ":4"],
    ],
    [
      ["rollout", "re"],
      ["resume", "retry", ":4"],
    ],
    [
      ["rollout", "-n", "team-a", "status", ""],
      ["kss/prod", ":4"],
    ],
    [
      ["rollout", "approve", "kss/prod", "--stage", ""],
      ["canary", "early", ":4"],
    ],
    [
      ["rollout", "adopt", ""],
      ["ks", "ke", ":4"],
    ],
    [["rol"], ["rollout", ":4"]],
    [["render", "-f", ""], [":0"]],
    [["status", "--", "x"], [":0"]],
    [["nothing", ""], expect.arrayContaining(["status", "explain"])],
    [
      ["completion", "ku"],
      ["kubectl", ":4"],
    ],
    // What the hub has.
    [
      ["status", ""],
      ["ks/knative-serving", ":4"],
    ],
    [
      ["status", "ks"],
      ["ks/knative-serving", ":4"],
    ],
    [
      ["diagnose", "--namespace=team-a", ""],
      ["ks/knative-serving", ":4"],
    ],
    [
      ["diagnose", "--from=controller-"],
      ["controller-identity", ":4"],
    ],
    [
      ["status", "-A", "k"],
      ["ks/knative-serving", "ke/knative-eventing", ":4"],
    ],
    [
      ["status", "-n", "team-b", "ke"],
      ["ke/knative-eventing", ":4"],
    ],
    [
      ["status", "--namespace=team-b", "ke"],
      ["ke/knative-eventing", ":4"],
    ],
    [
      ["status", "--cluster", "eu"],
      ["eu-1", "eu-2", ":4"],
    ],
    [
      ["status", "--cluster=us"],
      ["us-1", ":4"],
    ],
    [
      ["status", "-n", ""],
      ["team-a", "team-b", ":4"],
    ],
    [
      ["status", "--context", "h"],
      ["hub", ":4"],
    ],
  ])("of %j offers %j", async (words, lines) => expect(await offered(...words)).toEqual(lines));

  test("says what a word is behind a tab", async () => {
    const { stdout } = await runText(["__complete", "status", "-A", ""], {
      env: { ...hub.env, ...patient },
    });
    expect(stdout).toBe("ks/knative-serving\tReady\nke/knative-eventing\tNotReady\n:4\n");
    const ofSets = await runText(["__complete", "wait", "k"], { env: { ...hub.env, ...patient } });
    expect(ofSets.stdout).toBe("ks/knative-serving\tReady\nkss/prod\tRolling\n:4\n");
  });

  test.each([
    // Nobody listens on the port: it is refused, or silent for the second that completion waits.
    ["a hub that is gone", {}, ["status", "--server", "http://127.0.0.1:9", ""]],
    [
      "a hub that is gone, of namespaces",
      {},
      ["status", "--server", "http://127.0.0.1:9", "-n", ""],
    ],
    ["a hub that is gone, of clusters", {}, ["connect", "--server", "http://127.0.0.1:9", ""]],
    ["a kubeconfig that is not there", { KUBECONFIG: "/nowhere" }, ["status", ""]],
    ["flags that cannot be read", {}, ["status", "--timeout", "x", ""]],
  ])("offers nothing and stays silent with %s", async (_, env, words) => {
    expect(await runText(["__complete", ...words], { env })).toEqual({
      exitCode: 0,
      stdout: ":4\n",
      stderr: "",
    });
  });

  test("takes the empty word of PowerShell, and writes no file", async () => {
    const cache = await mkdtemp(join(folder, "cache-"));
    const env = { ...hub.env, ...patient, XDG_CACHE_HOME: cache, HOME: cache };
    const { stdout } = await runText(["__complete", "connect", '""'], { env });
    expect(stdout).toBe("eu-1\tfleet\neu-2\tfleet\nus-1\tfleet\n:4\n");
    expect(await readdir(cache)).toEqual([]);
  });
});

describe("the file that kubectl runs", () => {
  test("asks this program", async () => {
    const { stdout, exitCode } = await runText(["completion", "kubectl"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("exec kubectl-knfleet __complete");
  });

  test.each([[["bash"]], [["tcsh"]], [[]], [["kubectl", "install"]]])(
    "is the only one: %j is refused",
    async (words) => {
      const ran = await runText(["completion", ...words]);
      expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    },
  );

  test("is put beside the plugin, and replaces nothing unasked", async () => {
    const env = { PATH: `/nowhere:${folder}` };
    const path = join(folder, "kubectl_complete-knfleet");
    await writeFile(join(folder, "kubectl-knfleet"), "");
    expect(await runText(["completion", "install"], { env })).toMatchObject({
      stdout: `${path}\n`,
    });
    expect(await readFile(path, "utf8")).toContain("exec kubectl-knfleet __complete");
    await writeFile(path, "mine");
    expect(await runText(["completion", "install"], { env })).toMatchObject({ exitCode: 2 });
    expect(await runText(["completion", "install", "--yes"], { env })).toMatchObject({
      exitCode: 0,
    });
    expect(await runText(["completion", "install"], { env: { PATH: "/nowhere" } })).toMatchObject({
      exitCode: 2,
    });
  });
});
