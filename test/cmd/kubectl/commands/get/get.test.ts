import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { kindsNamed, servedKinds } from "../../../../../cmd/kubectl/spokes/object-table.ts";
import { component } from "../../fleet-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";
import { kindsAnswer } from "./recorded-kinds.ts";

const objects = [component({ cluster: null }), component({ cluster: "eu-1", namespace: "team-b" })];

let hub: StubHub;
beforeAll(async () => {
  hub = await startStubHub(objects, kindsAnswer);
});
afterAll(() => hub[Symbol.asyncDispose]());

async function ran(line: string) {
  return await runText(["get", ...line.split(" ")], { env: { ...hub.env, LANG: "C.UTF-8" } });
}

/** The requests for pods that a command line makes. */
async function asked(line: string): Promise<readonly string[]> {
  const before = hub.requests.length;
  await ran(line);
  return hub.requests.slice(before).filter((request) => request.endsWith("/pods"));
}

describe("a word", () => {
  const client = {
    request: (_: unknown, path: string) =>
      Promise.resolve(kindsAnswer({ method: "GET", path, accept: "", body: undefined })?.body),
  };

  test.each([
    ["pods", ["v1 Pod"]],
    ["Pod", ["v1 Pod"]],
    ["po", ["v1 Pod"]],
    ["svc", ["v1 Service"]],
    ["service", ["v1 Service"]],
    ["ksvc", ["serving.knative.dev/v1 Service"]],
    ["services.serving.knative.dev", ["serving.knative.dev/v1 Service"]],
    ["services.v1.serving.knative.dev", ["serving.knative.dev/v1 Service"]],
    ["knative", ["serving.knative.dev/v1 Service"]],
    ["all", ["v1 Pod", "serving.knative.dev/v1 Service"]],
    ["bindings", []],
    ["pods.other.group", []],
  ])("%s means %j", async (word, kinds) => {
    const served = await servedKinds(client, AbortSignal.timeout(1_000));
    const named = kindsNamed(word, served).map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
    expect(named).toEqual(kinds);
  });
});

describe("get", () => {
  test.each([
    ["get.table.txt", "pods"],
    ["get.wide.txt", "pods,secrets --show-labels -o wide"],
    ["get.json.txt", "secrets -o json"],
    ["get.name.txt", "pods,secrets -o name"],
  ])("prints %s as agreed", async (file, line) => {
    const { stdout, stderr, exitCode } = await ran(line);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    const path = join(import.meta.dirname, "../../../../golden/kubectl", file);
    await expect(stdout).toMatchFileSnapshot(path);
  });

  test("never prints the values of Secrets, nor who manages a field", async () => {
    for (const format of ["json", "yaml", "jsonpath={.items[*].object}"]) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const { stdout } = await ran(`secrets -o ${format}`);
      expect(stdout).toContain("<hidden>");
      expect(stdout).not.toMatch(/c2VjcmV0|managedFields|last-applied/);
    }
  });

  test.each([
    { line: "pods", code: 0, says: "" },
    { line: "pods activator-1", code: 0, says: "" },
    { line: "pods nothing", code: 1, says: 'error: pods "nothing" not found' },
    { line: "ksvc", code: 0, says: "No resources found." },
    { line: "unicorns", code: 1, says: `doesn't have a resource type "unicorns"` },
    { line: "kss", code: 1, says: `"kss": fleet sets are on the hub, see kubectl get kss` },
    { line: "pods -A", code: 3, says: "1 of 2 clusters could not be read" },
    { line: "pod/activator-1", code: 0, says: "" },
    { line: "po/activator-1 secret/nothing", code: 1, says: 'error: secret "nothing" not found' },
    { line: "pods/a b", code: 2, says: '"b" is no object: write KIND NAME, or only KIND/NAME' },
    { line: "pods/", code: 2, says: "is no object" },
    { line: "pods/a/b", code: 2, says: "is no object" },
    { line: "-A", code: 2, says: "name a kind" },
  ])("$line exits $code and says $says", async ({ line, code, says }) => {
    const { exitCode, stderr } = await ran(line);
    expect(stderr).toContain(says);
    expect(exitCode).toBe(code);
  });

  test("shows what it may list where something else is forbidden", async () => {
    await using strict = await startStubHub(objects, (request) =>
      request.path.endsWith("/services")
        ? { status: 403, body: { kind: "Status", message: "services are forbidden" } }
        : kindsAnswer(request),
    );
    const { exitCode, stdout, stderr } = await runText(["get", "all"], { env: strict.env });
    expect(stdout).toContain("activator-1");
    expect(stderr).toMatch(
      /^Not everything could be read:\n {2}<hub>: .*services are forbidden\n$/,
    );
    expect(exitCode).toBe(3);
    const none = await runText(["get", "ksvc"], { env: strict.env });
    expect(none.stderr).toContain("1 of 1 cluster could not be read:");
    expect(none.exitCode).toBe(3);
  });

  test("is ordered by a field of the objects, as it is typed for kubectl", async () => {
    const { stdout } = await ran("pods,secrets --sort-by .metadata.name -o name");
    expect(stdout).toMatch(/activator-1\n.*controller-1\n/);
    expect((await ran("pods --sort-by {.metadata.nothing}")).exitCode).toBe(0);
    expect((await ran("pods --sort-by .nothing")).exitCode).toBe(2);
  });

  test("asks for the namespaces of the installations, one, or all", async () => {
    expect(await asked("pods")).toEqual(["GET /api/v1/namespaces/team-a/pods"]);
    expect(await asked("pods --spoke-namespace x")).toEqual(["GET /api/v1/namespaces/x/pods"]);
    expect(await asked("pods --all-spoke-namespaces")).toEqual(["GET /api/v1/pods"]);
  });
});
