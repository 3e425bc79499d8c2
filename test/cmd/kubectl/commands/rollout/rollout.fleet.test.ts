import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";

import { timestampOf } from "../../../../../api/conditions.ts";
import { steering } from "../../../../../api/fleet-set.ts";
import { selectionShrank } from "../../../../../api/sentences.ts";
import { revisionNameOf } from "../../../../../sets/desired-spec.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import { rowsOf, runKnfleet, type Ran, type RunOptions } from "../../run-knfleet.ts";
import { before, namespace, prodKey, RolloutScene, spec, stages } from "./rollout-scene.ts";

const fleet = useFleet({ spokes: 0 });
let kubeconfigs: Readonly<Record<"admin" | "viewer" | "nobody", string>>;
let scene: RolloutScene;

async function knfleet(
  args: readonly string[],
  { as = "admin", ...options }: RunOptions & { readonly as?: keyof typeof kubeconfigs } = {},
): Promise<Ran> {
  const line = ["rollout", ...args, "--request-timeout", "60s"];
  return await runKnfleet(line, { ...options, env: { KUBECONFIG: kubeconfigs[as] } });
}

beforeAll(async () => {
  const { hub } = fleet();
  scene = new RolloutScene(hub.admin);
  await scene.make();
  const sees = [
    { apiGroups: ["knfleet.dev"], resources: ["knativeservingsets"], verbs: ["get", "list"] },
  ];
  const account = { namespace, name: "viewer", namespaceRules: sees };
  const { token } = await hub.serviceAccountToken(account);
  const write = (name: string, identity: Parameters<typeof hub.kubeconfig>[0]["identity"]) =>
    hub.writeKubeconfig(`rollout-${name}.kubeconfig`, { identity, namespace });
  kubeconfigs = {
    admin: await write("admin", hub.adminIdentity),
    viewer: await write("viewer", { token }),
    nobody: await write("nobody", hub.clientCertificate("mallory", [])),
  };
});

beforeEach(async () => {
  await scene.reset();
});

describe("rollout status", () => {
  test.each([
    ["Complete", "Passed", 0],
    ["Halted", "Halted", 1],
    ["Rolling", "Rolling", 3],
  ] as const)("of phase %s exits with its code", async (phase, canary, code) => {
    await scene.setStatus(phase, canary);
    const { stdout, exitCode } = await knfleet(["status", "kss/prod"]);
    expect(stdout).toContain(`KnativeServingSet platform/prod: ${phase}`);
    expect(exitCode).toBe(code);
  });

  test("-w follows the set until it is complete", async () => {
    await scene.setStatus("Rolling", "Rolling");
    const { stdout, exitCode } = await knfleet(["status", "kss/prod", "-w"], {
      async during(child) {
        let said = "";
        child.stdout?.on("data", (text: Buffer) => (said += text.toString()));
        await waitFor("the first line", () => said.includes("Rolling"));
        await scene.setStatus("Complete", "Passed");
      },
    });
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(exitCode).toBe(0);
  });

  test("-w ends with 124 when its time is over", async () => {
    await scene.setStatus("Rolling", "Rolling");
    expect((await knfleet(["status", "kss/prod", "-w", "--timeout", "2s"])).exitCode).toBe(124);
  });

  test("of a set that does not exist exits with 1", async () => {
    const { stderr, exitCode } = await knfleet(["status", "kes/prod"]);
    expect(stderr).toContain('knativeeventingsets.knfleet.dev "prod" not found');
    expect(exitCode).toBe(1);
  });
});

describe("steering", () => {
  test("approve names the revision and the user that the API server knows", async () => {
    await scene.setStatus("AwaitingApproval", "AwaitingApproval");
    const name = "knfleet.dev/approve.canary-after";
    expect((await knfleet(["approve", "kss/prod", "--dry-run"])).exitCode).toBe(0);
    expect(await scene.annotations()).not.toHaveProperty([name]);
    const { stdout, exitCode } = await knfleet(["approve", "kss/prod"]);
    expect(exitCode).toBe(0);
    const { [name]: value = "" } = await scene.annotations();
    const [revision, ...user] = value.split(" ");
    expect(revision).toBe(scene.update);
    expect(stdout).toContain(`for revision ${scene.update} as ${user.join(" ")}\n`);
    const again = await knfleet(["approve", "kss/prod"]);
    expect(again.stdout).toContain("was approved already");
  });

  test("pause and resume write and remove one annotation", async () => {
    await scene.setStatus("Rolling", "Rolling");
    await knfleet(["pause", "kss/prod", "--reason", "incident 7"]);
    expect(await scene.annotations()).toMatchObject({ "knfleet.dev/pause-rollout": "incident 7" });
    expect((await knfleet(["resume", "kss/prod"])).exitCode).toBe(0);
    expect(await scene.annotations()).not.toHaveProperty(["knfleet.dev/pause-rollout"]);
  });

  test("resume of a set that its spec pauses exits with 1", async () => {
    await scene.apply({ rollout: { stages, paused: true } });
    const { stderr, exitCode } = await knfleet(["resume", "kss/prod"]);
    expect(stderr).toContain("spec.rollout.paused");
    expect(exitCode).toBe(1);
    await scene.apply({ rollout: { stages, paused: false } });
  });

  test("retry names the revision, and is refused where nothing failed", async () => {
    await scene.setStatus("Rolling", "Rolling");
    expect((await knfleet(["retry", "kss/prod"])).exitCode).toBe(1);
    await scene.setStatus("Halted", "Halted");
    expect((await knfleet(["retry", "kss/prod"])).exitCode).toBe(0);
    expect(await scene.annotations()).toMatchObject({ "knfleet.dev/retry": scene.update });
  });

  test("accept-selection names the selection that is held back", async () => {
    const message = selectionShrank.of(steering.acceptSelection, "0123456789");
    const lastTransitionTime = timestampOf(new Date());
    const shrunk = { type: "Selected", status: "False", reason: "SuspiciousShrink" } as const;
    const conditions = [{ ...shrunk, message, lastTransitionTime }];
    await scene.setStatus("Rolling", "Rolling", { conditions });
    expect((await knfleet(["accept-selection", "kss/prod"])).exitCode).toBe(0);
    expect(await scene.annotations()).toMatchObject({
      "knfleet.dev/accept-selection": "0123456789",
    });
  });
});

describe("revisions", () => {
  test("history lists them with their marks", async () => {
    const { stdout, exitCode } = await knfleet(["history", "kss/prod"]);
    expect(exitCode).toBe(0);
    expect(rowsOf(stdout)).toMatchObject([
      { NUMBER: "1", REVISION: scene.previous, VERSIONS: "1.22", MARKS: "current, completed" },
      { NUMBER: "2", REVISION: scene.update, VERSIONS: "1.23", MARKS: "update" },
    ]);
    const one = await knfleet(["history", "kss/prod", "--revision", scene.previous]);
    expect(parse(one.stdout)).toEqual(before);
  });

  test("undo prints the set, --apply makes it want the revision before", async () => {
    const overrides = [{ name: "pinned", clusters: ["eu-2"], patch: { version: "1.22" } }];
    await scene.apply({ overrides });
    const printed = await knfleet(["undo", "kss/prod"]);
    expect(parse(printed.stdout)).toMatchObject({ spec: { ...spec, ...before } });
    expect((await scene.read()).spec.template).toEqual(spec.template);
    const { stdout, exitCode } = await knfleet(["undo", "kss/prod", "--apply"]);
    expect(stdout).toContain(`wants revision ${scene.previous} again`);
    expect(exitCode).toBe(0);
    const set = await scene.read();
    expect(set.spec).toMatchObject({ ...spec, ...before });
    expect(set.spec).not.toHaveProperty("overrides");
    expect(revisionNameOf(set)).toBe(scene.previous);
  });
});

describe("rollout plan", () => {
  test("tells what would become of each cluster, and writes nothing", async () => {
    const { resourceVersion } = (await scene.read()).metadata;
    const { stdout, exitCode } = await knfleet(["plan", "kss/prod", "-o", "json"]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      summary: { revision: expect.stringMatching(/^prod-/), clusters: 2, writes: 2, blocked: 0 },
      items: [
        {
          cluster: { name: "eu-1" },
          stage: "canary",
          action: "update",
          from: "1.22.0",
          to: "1.23.1",
        },
        { cluster: { name: "eu-2" }, stage: "rest", action: "create", from: null, to: "1.23.1" },
      ],
    });
    expect((await scene.read()).metadata.resourceVersion).toBe(resourceVersion);
  });

  test("-f says what the hub refuses, and writes nothing", async () => {
    const file = join(fleet().hub.folder, "refused.json");
    const { apiVersion, kind } = prodKey;
    const { clusters } = spec;
    const twice = { ...spec, clusters: { ...clusters, ocmPlacement: { name: "a" } } };
    for (const name of ["prod", "new"]) {
      const metadata = { namespace, name };
      // oxlint-disable no-await-in-loop -- one after the other
      await writeFile(file, JSON.stringify({ apiVersion, kind, metadata, spec: twice }));
      const { stdout, stderr, exitCode } = await knfleet(["plan", "-f", file, "-o", "json"]);
      expect(stderr).toBe("");
      expect(JSON.parse(stdout).summary.warnings).toContainEqual(
        expect.stringMatching(/^the hub refuses the set: .*exactly the field that from names/),
      );
      expect(exitCode).toBe(1);
      await writeFile(file, JSON.stringify({ apiVersion, kind, metadata, spec }));
      const good = await knfleet(["plan", "-f", file, "-o", "json"]);
      expect(JSON.parse(good.stdout).summary.warnings).toEqual([]);
      // oxlint-enable no-await-in-loop
    }
    expect(await fleet().hub.admin.get({ ...prodKey, name: "new" })).toBeUndefined();
    expect((await scene.read()).spec.clusters).toEqual(spec.clusters);
  });

  test("-f plans what is not on the hub", async () => {
    const file = join(fleet().hub.folder, "set.json");
    const skipping = { ...spec, template: { spec: { version: "1.24" } } };
    const { apiVersion, kind, name } = prodKey;
    const metadata = { namespace, name };
    await writeFile(file, JSON.stringify({ apiVersion, kind, metadata, spec: skipping }));
    const { stdout } = await knfleet(["plan", "-f", file, "-o", "json"]);
    expect(JSON.parse(stdout).items[0]).toMatchObject({
      cluster: { name: "eu-1" },
      action: "blocked",
      reason: "VersionNotEligible",
    });
  });
});

test("rollout adopt prints a set that the API server takes", async () => {
  const { stdout, exitCode } = await knfleet(["adopt", "ks", "-n", "legacy"]);
  expect(exitCode).toBe(0);
  const set = parse(stdout);
  expect(set.spec.clusters.exclude.map(({ name }: { name: string }) => name).toSorted()).toEqual([
    "eu-1",
    "eu-2",
  ]);
  const { spec: stored } = await fleet().hub.admin.create(set);
  expect(stored).toMatchObject(set.spec);
});

const writing = [
  ["approve", "kss/prod"],
  ["pause", "kss/prod"],
  ["resume", "kss/prod"],
  ["retry", "kss/prod"],
] as const;

describe("a user without rights", () => {
  test.each([
    ["status", "kss/prod"],
    ["history", "kss/prod"],
    ["plan", "kss/prod"],
    ["undo", "kss/prod"],
    ["accept-selection", "kss/prod"],
    ["adopt", "ks"],
    ...writing,
  ])("%s %s exits with 2 and says which right is missing", async (...args) => {
    const { stderr, exitCode } = await knfleet(args, { as: "nobody" });
    expect(stderr).toMatch(/^error: Forbidden: .*User "mallory" cannot /);
    expect(exitCode).toBe(2);
  });

  test.each(writing)("who only sees sets: %s %s is forbidden", async (...args) => {
    await scene.annotate({
      "knfleet.dev/pause-rollout": "x",
      "knfleet.dev/retry": null,
      "knfleet.dev/approve.canary-after": null,
    });
    const isGate = args[0] === "approve";
    await scene.setStatus(
      isGate ? "AwaitingApproval" : "Halted",
      isGate ? "AwaitingApproval" : "Halted",
    );
    expect((await knfleet(["status", "kss/prod"], { as: "viewer" })).exitCode).not.toBe(2);
    const { stderr, exitCode } = await knfleet(args, { as: "viewer" });
    expect(stderr).toMatch(/^error: Forbidden: .* cannot patch resource "knativeservingsets"/);
    expect(exitCode).toBe(2);
  });
});
