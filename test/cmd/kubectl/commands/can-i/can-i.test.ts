import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { recordAt, textAt } from "../../../../../api/fields.ts";
import { component } from "../../fleet-facts.ts";
import { reviews } from "../../reviews.ts";
import { rowsOf } from "../../run-knfleet.ts";
import { runText, type RunText } from "../../run-text.ts";
import { startStubHub, type StubHub } from "../../stub-hub.ts";

const releaseDir = join(import.meta.dirname, "../../../../fixtures/release");
const spec = { version: "1.22.0", ingress: { kourier: { enabled: true } } };
const local = { ...component({ cluster: null }), spec };

const noWrites = (right: string): boolean =>
  !/^(?:create|patch) (?:deployments|images)\./.test(right);

async function canI(hub: StubHub, args: readonly string[], options: RunText = {}) {
  // Two hundred questions take their time on a busy machine.
  const line = ["can-i", ...args, "--release-dir", releaseDir, "--spoke-timeout", "60s"];
  return await runText(line, { env: { ...hub.env, LANG: "C.UTF-8" }, ...options });
}

function golden(name: string): string {
  return join(import.meta.dirname, "../../../../golden/kubectl", `can-i.${name}.txt`);
}

/** What was printed, with the hub's address as it is for everybody. */
function printed({ stdout, stderr, exitCode }: Awaited<ReturnType<typeof canI>>): string {
  return `${stdout}--- stderr\n${stderr}--- exit code ${exitCode}\n`;
}

describe("can-i on a recorded hub", () => {
  test.each([
    ["table", []],
    ["wide", ["-o", "wide"]],
    ["json", ["-o", "json"]],
    ["clusterrole", ["-o", "clusterrole"]],
  ])("is printed as agreed as %s", async (name, args) => {
    await using hub = await startStubHub([local], reviews(noWrites));
    await expect(printed(await canI(hub, args))).toMatchFileSnapshot(golden(name));
  });

  test("shows one row for a cluster that lacks nothing, and exits 0", async () => {
    await using hub = await startStubHub(
      [local],
      reviews(() => true),
    );
    const { stdout, stderr, exitCode } = await canI(hub, ["ks/knative-serving"]);
    expect(rowsOf(stdout)).toMatchObject([{ CLUSTER: "<hub>", FOR: "<all>", CREATE: "yes" }]);
    expect(stderr).toMatch(/^<hub>: jane has all \d+ rights for KnativeServing 1\.22\.0\n/);
    expect(exitCode).toBe(0);
  });

  test.each([
    { what: "all that it holds", incomplete: false, asked: 0 },
    { what: "nothing, because there are others", incomplete: true, asked: 175 },
  ])("believes the rules of an administrator: $what", async ({ incomplete, asked }) => {
    const all = { apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
    const rules = { incomplete, resourceRules: [all] };
    await using hub = await startStubHub(
      [local],
      reviews(() => true, { rules }),
    );
    expect(await canI(hub, [])).toMatchObject({ exitCode: 0 });
    const lines = hub.requests.filter((line) => line.endsWith("/selfsubjectaccessreviews"));
    expect(lines).toHaveLength(asked);
  });

  test("a rule for some objects only, or of another group, grants nothing", async () => {
    const named = { apiGroups: ["*"], resources: ["*"], verbs: ["*"], resourceNames: ["x"] };
    const foreign = { apiGroups: ["apps"], resources: ["configmaps"], verbs: ["*"] };
    const rules = { incomplete: false, resourceRules: [named, foreign] };
    await using hub = await startStubHub(
      [local],
      reviews(() => false, { rules }),
    );
    const { stderr, exitCode } = await canI(hub, []);
    expect(stderr).toContain("jane lacks 175 of 175 rights");
    expect(exitCode).toBe(1);
  });

  test("asks about the version that is wanted, and about what the installed one leaves behind", async () => {
    const asked = new Set<string>();
    const answer = reviews((right) => {
      asked.add(right);
      return true;
    });
    await using hub = await startStubHub([local], answer);
    const { stderr } = await canI(hub, ["--version", "1.23"]);
    expect(stderr).toContain("KnativeServing 1.23.1");
    expect(asked).toContain("create deployments.apps");
    expect(asked).toContain("get pods/log.");
  });

  test.each([
    { what: "a name that does not exist", args: ["ks/nothing"], exitCode: 1 },
    { what: "a version that does not exist", args: ["--version", "9.9"], exitCode: 2 },
    { what: "a format of another command", args: ["-o", "dot"], exitCode: 2 },
    { what: "--role with a name", args: ["--role", "ks/knative-serving"], exitCode: 2 },
    { what: "--role as a table", args: ["--role", "-o", "wide"], exitCode: 2 },
  ])("$what ends with $exitCode", async ({ args, exitCode }) => {
    await using hub = await startStubHub([local], reviews(noWrites));
    expect(await canI(hub, args)).toMatchObject({ exitCode });
  });

  test("a cluster that refuses to be asked is incomplete, and is named", async () => {
    const refusal = {
      kind: "Status",
      apiVersion: "v1",
      code: 403,
      message: "no",
      reason: "Forbidden",
    };
    await using hub = await startStubHub([local], ({ path }) =>
      path.includes("review") ? { status: 403, body: refusal } : undefined,
    );
    const { stdout, stderr, exitCode } = await canI(hub, []);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 3 });
    expect(stderr).toContain("1 of 1 cluster could not be read:");
  });

  test("manifests that only the controller may fetch make the answer incomplete", async () => {
    const additionalManifests = [{ URL: "https://example.com/more.yaml" }];
    const withMore = { ...local, spec: { ...spec, additionalManifests } };
    await using hub = await startStubHub(
      [withMore],
      reviews(() => true),
    );
    const { stderr, exitCode } = await canI(hub, []);
    expect(stderr).toContain("brings 1 manifest by URL");
    expect(exitCode).toBe(3);
  });
});

describe("-o clusterrole", () => {
  test("is bound to who lacks it, and says nothing when nothing is missing", async () => {
    const user = "system:serviceaccount:knfleet:knfleet-hub";
    await using hub = await startStubHub([local], reviews(noWrites, { username: user }));
    const { stdout } = await canI(hub, ["-o", "clusterrole", "-q"]);
    const [role, binding] = parseAllDocuments(stdout).map((document) => recordAt(document.toJS()));
    expect(role).toMatchObject({
      kind: "ClusterRole",
      rules: [
        { apiGroups: ["apps"], resources: ["deployments"], verbs: ["create", "patch"] },
        {
          apiGroups: ["caching.internal.knative.dev"],
          resources: ["images"],
          verbs: ["create", "patch"],
        },
      ],
    });
    const name = textAt(recordAt(role, "metadata"), "name");
    expect(name).toMatch(/^knfleet-spoke-[0-9a-f]{8}$/);
    expect(binding).toMatchObject({
      kind: "ClusterRoleBinding",
      roleRef: { name },
      subjects: [{ kind: "ServiceAccount", namespace: "knfleet", name: "knfleet-hub" }],
    });
    await using all = await startStubHub(
      [local],
      reviews(() => true),
    );
    expect(await canI(all, ["-o", "clusterrole", "-q"])).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "",
    });
  });

  test("a user name cannot write lines of its own", async () => {
    await using hub = await startStubHub(
      [local],
      reviews(noWrites, { username: "eve\n---\nkind: Evil" }),
    );
    const { stdout } = await canI(hub, ["-o", "clusterrole", "-q"]);
    const kinds = parseAllDocuments(stdout).map((one) => recordAt(one.toJS())["kind"]);
    expect(kinds).toEqual(["ClusterRole", "ClusterRoleBinding"]);
  });
});
