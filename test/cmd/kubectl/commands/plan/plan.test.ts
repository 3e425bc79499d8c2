import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { component } from "../../fleet-facts.ts";
import { reviews } from "../../reviews.ts";
import { runText } from "../../run-text.ts";
import { type Answer, forbidden } from "../../stub-hub.ts";
import { controllerTaking, startComparingHub, type ComparingHub } from "../diff/comparing-hub.ts";

const older = {
  "ServiceAccount/thin": undefined,
  "ConfigMap/config-thin": { data: { size: "0" } },
  "Deployment/thin": {
    spec: {
      selector: { matchLabels: { app: "thin" } },
      template: {
        metadata: { labels: { app: "thin" } },
        spec: { containers: [{ name: "thin", image: "registry.example.com/thin:1.22.0" }] },
      },
    },
    status: { replicas: 3 },
  },
};

const file = (
  spec: string,
  name = "knative-eventing",
): string => `apiVersion: operator.knative.dev/v1beta1
kind: KnativeEventing
metadata: {name: ${name}, namespace: team-a}
spec: ${spec}
`;

let hub: ComparingHub;
let folder: string;
beforeAll(async () => {
  hub = await startComparingHub(older);
  folder = await mkdtemp(join(tmpdir(), "knfleet-plan-test-"));
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function planned(
  text: string,
  { on = hub, more = [] }: { on?: ComparingHub; more?: readonly string[] } = {},
) {
  const path = join(folder, "component.yaml");
  await writeFile(path, text);
  const args = ["plan", "-f", path, "--release-dir", on.releaseDir, ...more];
  return runText(args, { env: { ...on.env, LANG: "C.UTF-8" } });
}

describe("plan", () => {
  test.each([
    ["plan.txt", []],
    ["plan.json.txt", ["-o", "json"]],
    ["plan.name.txt", ["-o", "name"]],
  ])(
    "%s is printed as agreed, and the exit code says that something changes",
    async (name, more) => {
      const { exitCode, stdout, stderr } = await planned(
        file('{version: "1.23", config: {x: {a: b}}}'),
        { more },
      );
      const golden = join(import.meta.dirname, "../../../../golden/kubectl", name);
      await expect(`${stdout}--- stderr\n${stderr}`).toMatchFileSnapshot(golden);
      expect(exitCode).toBe(1);
    },
  );

  test("says which entries of spec.config change nothing, and is fine all the same", async () => {
    await using same = await startComparingHub({});
    const spec = '{version: "1.23", config: {thin: {size: "1"}, "config-thick": {a: b}}}';
    const { stdout } = await planned(file(spec), { on: same });
    expect(stdout).toContain(
      "  warning: spec.config.config-thick: changes nothing: nothing that is installed has such a ConfigMap\n",
    );
    expect(stdout).not.toContain("not possible");
  });

  const patches = JSON.stringify([
    {
      target: { apiVersion: "v1", kind: "ConfigMap", name: "config-thin" },
      patch: { type: "merge", content: '{"data": {"size": "3"}}' },
    },
  ]);

  test("shows what a patch changes on the cluster", async () => {
    await using same = await startComparingHub({});
    const spec = `{version: "1.23", patches: ${patches}}`;
    const { exitCode, stdout } = await planned(file(spec), { on: same, more: ["-o", "json"] });
    const [item] = JSON.parse(stdout).items;
    expect(item.changes).toMatchObject([
      {
        action: "change",
        object: { kind: "ConfigMap", name: "config-thin" },
        fields: [{ path: ".data.size", live: "1", wanted: "3" }],
      },
    ]);
    expect(exitCode).toBe(1);
  });

  test("says which patch cannot be applied", async () => {
    const spec = `{version: "1.23", patches: ${patches.replace("config-thin", "config-thick")}}`;
    const { exitCode, stdout, stderr } = await planned(file(spec));
    expect(`${stdout}${stderr}`).toContain("patch 0 target v1, Kind=ConfigMap, */config-thick: ");
    expect(exitCode).toBe(2);
  });

  test("of what is installed already is 0", async () => {
    await using same = await startComparingHub({});
    const { exitCode, stdout } = await planned(file('{version: "1.23"}'), { on: same });
    expect(stdout).toBe(
      "KnativeEventing team-a/knative-eventing on the hub, version 1.23.0\n  hub: no change\n  cluster: no change\n",
    );
    expect(exitCode).toBe(0);
  });

  test("shows what a webhook has against it, and is 2", async () => {
    const message = 'admission webhook "x" denied the request: spec.version: no';
    await using strict = await startComparingHub(older, {
      answer: ({ method }) => (method === "PUT" ? forbidden(message) : undefined),
    });
    const { exitCode, stdout } = await planned(file("{}"), { on: strict });
    expect(stdout).toContain(`hub: refused: ${message}`);
    expect(stdout).toContain("not possible: Refused");
    expect(exitCode).toBe(2);
  });

  test("says that a version may not follow another one, and is 2", async () => {
    const status = { observedGeneration: 1, version: "1.20.0", conditions: [] };
    const installed = component({ kind: "KnativeEventing", cluster: null, wanted: "1.20", status });
    await using far = await startComparingHub({}, { installed });
    const { exitCode, stdout } = await planned(file('{version: "1.23"}'), { on: far });
    expect(stdout).toContain("not possible: KNF1015 VersionNotEligible");
    expect(exitCode).toBe(2);
  });

  test("says that another component has the cluster, and is 2", async () => {
    const { exitCode, stdout } = await planned(file("{}", "second"));
    expect(stdout).toContain(
      "not possible: KNF1013 DuplicateComponent: KnativeEventing team-a/knative-eventing is for the same cluster",
    );
    expect(exitCode).toBe(2);
  });

  test("of a cluster that cannot be read is 3", async () => {
    const profile = "{clusterProfileRef: {namespace: fleet, name: nowhere}}";
    const { exitCode, stderr } = await planned(file(profile, "other"));
    expect(stderr).toContain("1 of 1 cluster could not be read:");
    expect(exitCode).toBe(3);
  });

  test("sends nothing but dry runs", async () => {
    const asked: string[] = [];
    await using seen = await startComparingHub(older, {
      answer: ({ method, query }) => {
        if (method !== "GET") asked.push(`${method} ${query?.get("dryRun") ?? ""}`);
        return undefined;
      },
    });
    await planned(file('{version: "1.23"}'), { on: seen });
    expect(new Set(asked)).toEqual(new Set(["PUT All", "PATCH All", "POST All"]));
  });

  test.each([
    [[], "There is nothing to plan"],
    [["-f", "-", "--version", "1.23"], "-f and --version exclude each other"],
    [["ks/one", "-f", "-"], "-f is about files, not about ks/one"],
    [["-f", "/no/file"], "-f /no/file: cannot be read (ENOENT)"],
  ])("with %j is refused", async (args, message) => {
    const { exitCode, stderr } = await runText(["plan", ...args], { env: hub.env });
    expect(stderr).toContain(message);
    expect(exitCode).toBe(2);
  });
});

const refuse = (message: string): Answer => {
  return ({ method }) => (method === "PUT" ? forbidden(message) : undefined);
};

describe("plan --version", () => {
  const { kind, name } = { kind: "KnativeEventing", name: "knative-eventing" } as const;
  const status = { observedGeneration: 1, version: "1.22.0", conditions: [] };
  const installed = component({ kind, cluster: null, wanted: "1.22", status });
  const mayAll = reviews(() => true, { username: "hub" });

  async function upgraded(
    answer: Answer = () => undefined,
    { args = [], to = "1.23" }: { args?: readonly string[]; to?: string } = {},
  ) {
    await using on = await startComparingHub(older, {
      installed,
      answer: (request) => answer(request) ?? mayAll(request),
    });
    const line = ["plan", "--version", to, "-A", "--release-dir", on.releaseDir, ...args];
    return await runText(line, { env: { ...on.env, LANG: "C.UTF-8" } });
  }

  test.each([
    ["plan.upgrade.txt", []],
    ["plan.upgrade.wide.txt", ["-o", "wide"]],
    ["plan.upgrade.json.txt", ["-o", "json"]],
    ["plan.upgrade.name.txt", ["-o", "name"]],
  ])(
    "%s is printed as agreed, and the exit code says that something changes",
    async (snapshot, args) => {
      const { exitCode, stdout, stderr } = await upgraded(undefined, { args });
      const golden = join(import.meta.dirname, "../../../../golden/kubectl", snapshot);
      await expect(`${stdout}--- stderr\n${stderr}`).toMatchFileSnapshot(golden);
      expect(exitCode).toBe(1);
    },
  );

  test("tells everything that stands in the way, and is 2", async () => {
    const { exitCode, stdout, stderr } = await upgraded((request) =>
      request.path === "/version"
        ? { body: { gitVersion: "v1.30.1" } }
        : reviews((right) => !right.endsWith(" jobs.batch"))(request),
    );
    expect(stdout).toContain("v1.30.1 < v1.34.0");
    expect(stderr).toContain(
      `KNF6001 KubernetesVersionTooOld: The cluster runs Kubernetes v1.30.1`,
    );
    expect(stderr).toMatch(/KNF5002 Forbidden: jane may not \S+ jobs\.batch/);
    expect(stderr).toContain(`can-i ke/${name} -n team-a --version 1.23 -o clusterrole`);
    expect(exitCode).toBe(2);
  });

  test("knows the oldest Kubernetes that the hub's controller takes", async () => {
    const controller = controllerTaking("v1.30.0");
    const { exitCode, stdout } = await upgraded(
      (request) =>
        request.path === "/version" ? { body: { gitVersion: "v1.30.1" } } : controller(request),
      { args: ["-o", "json"] },
    );
    const [item] = JSON.parse(stdout).items;
    expect(item.upgrade).toMatchObject({
      kubernetes: { cluster: "v1.30.1", minimum: "v1.30.0" },
      refusals: [],
    });
    expect(exitCode).toBe(1);
  });

  test("tells of entries of spec.config that the version has no ConfigMap for", async () => {
    const { spec, ...rest } = installed;
    const told = { ...rest, spec: { ...spec, config: { thin: {}, thick: {} } } };
    await using on = await startComparingHub(older, { installed: told, answer: mayAll });
    const line = ["plan", "--version", "1.23", "-A", "--release-dir", on.releaseDir];
    const { exitCode, stderr } = await runText(line, { env: on.env });
    expect(stderr).toContain(
      `Worth knowing:\n  <hub> ke/${name} -n team-a: spec.config.thick: changes nothing: nothing that is installed has such a ConfigMap\n`,
    );
    expect(exitCode).toBe(1);
  });

  test("of a release that is not at hand is 2", async () => {
    const { exitCode, stdout, stderr } = await upgraded(undefined, { to: "1.24" });
    expect(stdout).toContain("1.22.0 > ?");
    expect(stderr).toContain(
      "KNF1016 ReleaseNotFound: the manifests of the target version 1.24 are not available to this release; it has 1.23.0",
    );
    expect(exitCode).toBe(2);
  });

  test("names the versions on the way, and how to plan the first one", async () => {
    const status2 = { ...status, version: "1.25.0" };
    const far = component({ kind, cluster: null, wanted: "1.25", status: status2 });
    await using on = await startComparingHub(older, { installed: far, answer: mayAll });
    const line = ["plan", "--version", "1.23", "-A", "--release-dir", on.releaseDir];
    const { exitCode, stdout, stderr } = await runText(line, { env: on.env });
    expect(stdout).toContain("1.25.0 > ?");
    expect(stderr).toContain("KNF1015 VersionNotEligible");
    expect(exitCode).toBe(2);
  });

  test("is for people who may only read, too", async () => {
    const said =
      'knativeeventings.operator.knative.dev "x" is forbidden: User "eve" cannot update resource "knativeeventings"';
    const { exitCode, stdout } = await upgraded(refuse(said), { args: ["-o", "json"] });
    const [item] = JSON.parse(stdout).items;
    expect(item.hub).toEqual({
      action: "change",
      fields: [{ path: ".spec.version", live: "1.22", wanted: "1.23" }],
      message: said,
    });
    expect(exitCode).toBe(1);
  });

  test("shows what a webhook has against it, and is 2", async () => {
    const { exitCode, stderr } = await upgraded(refuse('admission webhook "x" denied the request'));
    expect(stderr).toContain('Refused: admission webhook "x" denied the request');
    expect(exitCode).toBe(2);
  });

  test("sends nothing but dry runs and reviews", async () => {
    const asked = new Set<string>();
    await upgraded(({ method, path, query }) => {
      if (method !== "GET" && !path.includes("reviews")) {
        asked.add(`${method} ${query?.get("dryRun") ?? ""}`);
      }
      return undefined;
    });
    expect(asked).toEqual(new Set(["PUT All", "PATCH All", "POST All"]));
  });

  test("of a name that does not exist is 1", async () => {
    const { exitCode, stderr } = await runText(
      ["plan", "ke/nobody", "--version", "1.23", "-n", "team-a", "--release-dir", hub.releaseDir],
      { env: hub.env },
    );
    expect(stderr).toContain('"nobody" not found');
    expect(exitCode).toBe(1);
  });
});
