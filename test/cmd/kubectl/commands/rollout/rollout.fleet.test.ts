import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";

import { sampleDirOf } from "../../../../../cmd/release-files.ts";
import { revisionNameOf } from "../../../../../sets/desired-spec.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { runText } from "../../run-text.ts";
import { before, namespace, prodKey, RolloutScene, spec } from "./rollout-scene.ts";

const fleet = useFleet({ spokes: 0 });
let kubeconfigs: Readonly<Record<"admin" | "viewer" | "nobody", string>>;
let scene: RolloutScene;

async function rollout(args: readonly string[], as: keyof typeof kubeconfigs = "admin") {
  const env = { KUBECONFIG: kubeconfigs[as], KNFLEET_RELEASE_DIR: sampleDirOf() };
  return await runText(["rollout", ...args, "--request-timeout", "60s"], { env });
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

test("approve names the revision and the user that the API server knows", async () => {
  await scene.setStatus("AwaitingApproval", "AwaitingApproval");
  const name = "knfleet.dev/approve.canary-after";
  expect((await rollout(["approve", "kss/prod", "--dry-run"])).exitCode).toBe(0);
  expect(await scene.annotations()).not.toHaveProperty([name]);
  const { stdout, exitCode } = await rollout(["approve", "kss/prod"]);
  expect(exitCode).toBe(0);
  const { [name]: value = "" } = await scene.annotations();
  const [revision, ...user] = value.split(" ");
  expect(revision).toBe(scene.update);
  expect(stdout).toContain(`for revision ${scene.update} as ${user.join(" ")}\n`);
  const again = await rollout(["approve", "kss/prod"]);
  expect(again.stdout).toContain("was approved already");
});

test("undo prints the set, --apply makes it want the revision before", async () => {
  const overrides = [{ name: "pinned", clusters: ["eu-2"], patch: { version: "1.22" } }];
  await scene.apply({ overrides });
  const printed = await rollout(["undo", "kss/prod"]);
  expect(parse(printed.stdout)).toMatchObject({ spec: { ...spec, ...before } });
  expect((await scene.read()).spec.template).toEqual(spec.template);
  const { stdout, exitCode } = await rollout(["undo", "kss/prod", "--apply"]);
  expect(stdout).toContain(`wants revision ${scene.previous} again`);
  expect(exitCode).toBe(0);
  const set = await scene.read();
  expect(set.spec).toMatchObject({ ...spec, ...before });
  expect(set.spec).not.toHaveProperty("overrides");
  expect(revisionNameOf(set)).toBe(scene.previous);
});

test("rollout plan -f says what the hub refuses, and writes nothing", async () => {
  const file = join(fleet().hub.folder, "refused.json");
  const { apiVersion, kind } = prodKey;
  const { clusters } = spec;
  const twice = { ...spec, clusters: { ...clusters, ocmPlacement: { name: "a" } } };
  for (const name of ["prod", "new"]) {
    const metadata = { namespace, name };
    // oxlint-disable no-await-in-loop -- one after the other
    await writeFile(file, JSON.stringify({ apiVersion, kind, metadata, spec: twice }));
    const { stdout, stderr, exitCode } = await rollout(["plan", "-f", file, "-o", "json"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout).summary.warnings).toContainEqual(
      expect.stringMatching(/^the hub refuses the set: .*exactly the field that from names/),
    );
    expect(exitCode).toBe(1);
    await writeFile(file, JSON.stringify({ apiVersion, kind, metadata, spec }));
    const good = await rollout(["plan", "-f", file, "-o", "json"]);
    expect(JSON.parse(good.stdout).summary.warnings).toEqual([]);
    // oxlint-enable no-await-in-loop
  }
  expect(await fleet().hub.admin.get({ ...prodKey, name: "new" })).toBeUndefined();
  expect((await scene.read()).spec.clusters).toEqual(spec.clusters);
});

test("rollout adopt prints a set that the API server takes", async () => {
  const { stdout, exitCode } = await rollout(["adopt", "ks", "-n", "legacy"]);
  expect(exitCode).toBe(0);
  const set = parse(stdout);
  expect(set.spec.clusters.exclude.map(({ name }: { name: string }) => name).toSorted()).toEqual([
    "eu-1",
    "eu-2",
  ]);
  const { spec: stored } = await fleet().hub.admin.create(set);
  expect(stored).toMatchObject(set.spec);
});

describe("a user without rights", () => {
  test("status kss/prod exits with 2 and says which right is missing", async () => {
    const { stderr, exitCode } = await rollout(["status", "kss/prod"], "nobody");
    expect(stderr).toMatch(/^error: Forbidden: .*User "mallory" cannot /);
    expect(exitCode).toBe(2);
  });

  test("who only sees sets: approve kss/prod is forbidden", async () => {
    await scene.annotate({ "knfleet.dev/approve.canary-after": null });
    await scene.setStatus("AwaitingApproval", "AwaitingApproval");
    expect((await rollout(["status", "kss/prod"], "viewer")).exitCode).not.toBe(2);
    const { stderr, exitCode } = await rollout(["approve", "kss/prod"], "viewer");
    expect(stderr).toMatch(/^error: Forbidden: .* cannot patch resource "knativeservingsets"/);
    expect(exitCode).toBe(2);
  });
});
