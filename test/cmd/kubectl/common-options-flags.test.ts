import { Readable } from "node:stream";

import { describe, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import { FleetError } from "../../../api/errors.ts";
import { failureOf } from "../../../cmd/kubectl/failure.ts";
import { askForAgreement } from "../../../cmd/kubectl/output/terminal.ts";
import { recordedObjects } from "./recorded-hub.ts";
import { runText } from "./run-text.ts";
import { startStubHub } from "./stub-hub.ts";

describe("--fail-fast", () => {
  // Without a provider file the spokes, which come first, cannot be read.
  const line = ["deployments", "-A", "--concurrency", "1"];

  test("ends the reading with the first cluster that cannot be read", async () => {
    await using hub = await startStubHub(recordedObjects);
    const { stdout, stderr, exitCode } = await runText([...line, "--fail-fast"], { env: hub.env });
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 3 });
    expect(stderr).toContain("<hub>: Interrupted");
    expect(hub.requests.filter((request) => request.includes("/deployments"))).toEqual([]);
  });

  test("left out, one spoke fails no other", async () => {
    await using hub = await startStubHub(recordedObjects);
    const { stdout, exitCode } = await runText(line, { env: hub.env });
    expect(stdout).toContain("eventing-controller");
    expect(exitCode).toBe(3);
  });
});

describe("--no-input", () => {
  const said: string[] = [];
  const terminal = () => ({
    args: [],
    env: {},
    stdin: Readable.from(["y\n"]),
    stdout: { write: () => true },
    stderr: { isTTY: true, write: (text: string) => said.push(text) },
    now: () => new Date(),
  });
  const asked = { yes: false, command: "x --yes" };

  test("refuses what has to be agreed to, and asks nothing", async () => {
    const question = askForAgreement("This makes a Job.", { ...asked, input: false }, terminal());
    await expect(question).rejects.toThrow(/Nobody is there to agree/);
    expect(said).toEqual([]);
  });

  test("left out, a person on a terminal is asked", async () => {
    await askForAgreement("This makes a Job.", { ...asked, input: true }, terminal());
    expect(said).toEqual(["This makes a Job. Go on? [y/N] "]);
  });

  test("does not stand in the way of --yes", async () => {
    const question = askForAgreement(
      "This makes a Job.",
      { ...asked, yes: true, input: false },
      terminal(),
    );
    await expect(question).resolves.toBeUndefined();
  });
});

describe("what cannot be understood", () => {
  test.each([
    { args: ["status", "--no-such"], next: "kubectl knfleet status --help" },
    { args: ["--context", "x", "check", "-o", "no"], next: "kubectl knfleet check --help" },
    { args: ["logs", "--tail", "x"], next: "kubectl knfleet logs --help" },
    { args: ["--no-such"], next: "kubectl knfleet --help" },
    { args: ["--version"], next: "kubectl knfleet version --client" },
    { args: ["statsu"], next: "Did you mean status?", label: "hint" },
  ])("$args leads to $next", async ({ args, next, label = "next" }) => {
    const { exitCode, stderr } = await runText(args, { env: {} });
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain(`\n${label}: ${next}\n`);
    expect(exitCode).toBe(2);
  });
});

test("a ClusterProfile that does not exist leads to the list of them", () => {
  const error = new FleetError("ClusterProfileNotFound", "ClusterProfile a/b does not exist");
  expect(failureOf(error).next).toEqual(["kubectl get clusterprofiles.multicluster.x-k8s.io -A"]);
});

describe("--sort-by", () => {
  test("refuses a field that no item has", async () => {
    await using hub = await startStubHub(recordedObjects);
    const line = ["status", "-A", "--no-live", "--sort-by"];
    const wrong = await runText([...line, ".metadata.name"], { env: hub.env });
    expect(wrong).toMatchObject({ exitCode: 2, stdout: "" });
    expect(wrong.stderr).toContain("--sort-by .metadata.name: no item has such a field");
    const right = await runText([...line, "{.cluster.name}"], { env: hub.env });
    expect(right.stdout).toContain("NAMESPACE");
  });
});

/** What is said about a 404 of the hub. */
function unserved(path: string, isStatus = false): string {
  const message = "404 page not found";
  const facts = { status: 404, reason: "", message, causes: [], isStatus };
  const { error, next } = failureOf(new ApiError({ ...facts, request: `GET ${path}` }));
  return [error, ...next].join("\n");
}

describe("a kind that the hub does not serve", () => {
  test("is named, with the CRDs that are missing", async () => {
    await using hub = await startStubHub([], ({ path }) =>
      path.endsWith("/clusterprofiles") ? { status: 404, body: "404 page not found" } : undefined,
    );
    const { exitCode, stderr } = await runText(["kubeconfig", "--all"], { env: hub.env });
    expect(stderr).toContain(`The server doesn't have a resource type "clusterprofiles"`);
    expect(stderr).toContain("CRDs of the Cluster Inventory API");
    expect(exitCode).toBe(2);
  });

  test.each([
    ["/apis/operator.knative.dev/v1beta1/knativeservings", /"knativeservings"\n.*CRDs of knfleet/],
    ["/apis/operator.knative.dev/v1beta1/namespaces/a/knativeservings/b", /"knativeservings"/],
    ["/version", /The hub answered 404 at GET \/version: 404 page not found/],
  ])("is read from %s", (path, says) => {
    expect(unserved(path)).toMatch(says);
  });

  test("is another thing than an object that is not there", () => {
    expect(unserved("/apis/a/v1/b/c", true)).toContain(
      "The hub answered 404 at GET /apis/a/v1/b/c",
    );
  });
});

describe("--output-version", () => {
  test.each(["v1", "knfleet.dev/v1"])("knows %s", async (version) => {
    const args = ["version", "--client", "-o", "json", "--output-version", version];
    const { stdout, exitCode } = await runText(args);
    expect(JSON.parse(stdout)).toMatchObject({ apiVersion: "knfleet.dev/v1" });
    expect(exitCode).toBe(0);
  });

  test.each(["v2", ""])("refuses %j", async (version) => {
    const { stderr, exitCode } = await runText(["version", "--output-version", version]);
    expect(stderr).toContain("--output-version: want v1");
    expect(exitCode).toBe(2);
  });
});

test.each([["--cache-dir", "/tmp"], ["--disable-compression"], ["--warnings-as-errors"]])(
  "%s of kubectl, which would do nothing here, is refused",
  async (...flag) => {
    const { stdout, stderr, exitCode } = await runText(["status", ...flag]);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
    expect(stderr).toMatch(/^error: Unknown option '--/);
  },
);
